#include "gpu_times_table.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "driver/kernel_launches.h"
#include "gpu_samples.h"
#include "op.h"

namespace diogenes::sim {
namespace {

// More than these are not waited for by anybody.
constexpr size_t kMostKept = 1 << 20;

std::atomic<bool> recording{false};
thread_local uint64_t current_operation = 0;

std::mutex lock;  // of what has ended

std::deque<GpuTime>& ended() {
  static auto* times = new std::deque<GpuTime>;
  return *times;
}

LaunchFile& launches() {
  static auto* file = new LaunchFile;
  return *file;
}

uint32_t launch_of(const Work& work) {
  if (!work.kernel) return 0;
  LaunchShape shape{};
  std::copy_n(work.grid, 3, shape.grid);
  std::copy_n(work.block, 3, shape.block);
  return launches().number_of(told_name(work.kernel), shape);
}

GpuWork work_of(const Work& work) {
  switch (work.engine) {
    case Engine::host_to_device:
      return GpuWork::to_device;
    case Engine::device_to_host:
      return GpuWork::to_host;
    case Engine::device_to_device:
      return GpuWork::on_device;
    default:
      return work.kernel ? GpuWork::kernel : GpuWork::fill;
  }
}

}  // namespace

const char* start_gpu_times(const char* folder) {
  const std::lock_guard held(lock);
  if (!launches().open(folder)) return "there is no memory for it";
  start_gpu_samples(folder);
  recording.store(true, std::memory_order_relaxed);
  return nullptr;
}

void note_operation(uint64_t operation) { current_operation = operation; }

size_t take_gpu_times(GpuTime* times, size_t most) {
  const std::lock_guard held(lock);
  const size_t count = std::min(most, ended().size());
  std::copy_n(ended().begin(), count, times);
  ended().erase(ended().begin(), ended().begin() + static_cast<ptrdiff_t>(count));
  return count;
}

void note_submitted(Op& op) {
  if (recording.load(std::memory_order_relaxed)) op.recorded_for = current_operation;
}

void note_ended(const Op& op) {
  if (op.recorded_for == 0 || op.end_ns <= op.begin_ns) return;
  const std::lock_guard held(lock);
  if (op.work.kernel) sample_launch(op.work.kernel);
  if (ended().size() >= kMostKept) return;
  const uint32_t stream = 0;  // the operation tells the stream
  ended().push_back(
      {op.recorded_for, op.begin_ns, op.end_ns, stream, launch_of(op.work), work_of(op.work), {}});
}

}  // namespace diogenes::sim
