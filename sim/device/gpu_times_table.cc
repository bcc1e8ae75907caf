#include "gpu_times_table.h"

#include <algorithm>
#include <deque>

#include "clock.h"
#include "device.h"

namespace diogenes::sim {
namespace {

// Kept under the device lock; more than these are not waited for by anybody.
constexpr size_t kMostKept = 1 << 20;

std::atomic<bool> recording{false};
thread_local uint64_t current_operation = 0;

std::deque<GpuTime>& ended() {
  static auto* times = new std::deque<GpuTime>;
  return *times;
}

const char* start() {
  recording.store(true, std::memory_order_relaxed);
  return nullptr;
}

size_t take(GpuTime* times, size_t most) {
  std::lock_guard held(device().lock);
  const size_t count = std::min(most, ended().size());
  std::copy_n(ended().begin(), count, times);
  ended().erase(ended().begin(), ended().begin() + static_cast<ptrdiff_t>(count));
  return count;
}

// What has ended by the clock, and was looked at by nobody yet.
void finish() {
  std::lock_guard held(device().lock);
  device().advance(now_ns());
}

GpuWork work_of(Engine engine) {
  switch (engine) {
    case Engine::host_to_device:
      return GpuWork::to_device;
    case Engine::device_to_host:
      return GpuWork::to_host;
    case Engine::device_to_device:
      return GpuWork::on_device;
    default:
      return GpuWork::kernel;
  }
}

}  // namespace

const GpuTimesSource kGpuTimesSource = {
    sizeof(GpuTimesSource),        start, [](uint64_t operation) { current_operation = operation; },
    [] { current_operation = 0; }, take,  finish,
};

void note_submitted(Op& op) {
  if (recording.load(std::memory_order_relaxed)) op.recorded_for = current_operation;
}

void note_ended(const Op& op) {
  if (op.recorded_for == 0 || op.end_ns <= op.begin_ns || ended().size() >= kMostKept) return;
  const uint32_t stream = 0;  // the operation tells the stream
  ended().push_back({op.recorded_for, op.begin_ns, op.end_ns, stream, work_of(op.work.engine), {}});
}

}  // namespace diogenes::sim
