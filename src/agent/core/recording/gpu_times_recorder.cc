#include "agent/core/recording/gpu_times_recorder.h"

#include <atomic>
#include <cstring>

#include "agent/core/calls/driver_calls.h"
#include "agent/core/calls/stream_numbers.h"
#include "agent/core/recording/elf_image.h"
#include "agent/core/recording/gpu_time_windows.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "base/units.h"
#include "driver/gpu_times_source.h"

namespace diogenes::agent {

namespace {

// As sim/include/simulated_driver.h has them; `gpu_times` is the seventh member of the table.
constexpr CUuuid kSimulatedTable = {
    {'d', 'i', 'o', 'g', 'e', 'n', 'e', 's', '-', 's', 'i', 'm', '-', 't', 'b', '1'}};
struct SimulatedTable {
  size_t bytes;
  const void* others[5];
  const GpuTimesSource* gpu_times;
};

constexpr uint32_t kCallsBetween = 32;  // takings
constexpr size_t kMost = 64;            // in one

std::atomic<const GpuTimesSource*> source{nullptr};
std::atomic<uint32_t> calls{0};
GpuTimeWindows windows;
std::atomic<bool> paused{false};  // where all are taken

const GpuTimesSource* of_simulated_driver() {
  const void* table = nullptr;
  if (!driver_calls.get_export_table ||
      driver_calls.get_export_table(&table, &kSimulatedTable) != CUDA_SUCCESS || !table)
    return nullptr;
  auto* known = static_cast<const SimulatedTable*>(table);
  return known->bytes >= sizeof *known ? known->gpu_times : nullptr;
}

const GpuTimesSource* of_plug_in() {
  const GpuTimesSource* found = nullptr;
  for_each_image(
      [](const LoadedImage& image, void* result) {
        if (!strstr(image.path, "libdiogenes-")) return;
        if (uintptr_t address = image.symbol(kGpuTimesSourceSymbol))
          *static_cast<const GpuTimesSource**>(result) = reinterpret_cast<const GpuTimesSource*>(address);
      },
      &found);
  return found;
}

// Operations are numbered from 1 for the source: 0 is none.
uint64_t number_of(OperationId id) { return (uint64_t{id.thread} << 32 | id.sequence) + 1; }

void write(const GpuTime& time) {
  append(GpuTimeRecord{.type = RecordType::gpu_time,
                       .work = static_cast<uint8_t>(time.work),
                       .thread = static_cast<uint16_t>((time.operation - 1) >> 32),
                       .sequence = static_cast<uint32_t>(time.operation - 1),
                       .begin_ns = time.begin_ns,
                       .end_ns = time.end_ns,
                       .stream = time.stream,
                       .launch = time.launch});
}

size_t take(const GpuTimesSource& from) {
  GpuTime times[kMost];
  size_t count = from.take(times, kMost);
  for (size_t i = 0; i < count; ++i)
    if (times[i].operation != 0) write(times[i]);
  return count;
}

// Nothing is switched during a capture, which calls of other kinds may end: it stays as it is.
struct Switch {
  const GpuTimesSource* source;
  bool operator()(bool on) const { return capture_under_way() ? !on : source->record(on); }
};

}  // namespace

void start_gpu_times() {
  if (source.load(std::memory_order_relaxed)) return;
  const GpuTimesSource* found = of_simulated_driver();
  if (!found) found = of_plug_in();
  ProcessFile* process = process_file();
  if (!process || process->gpu_times != GpuTimesState::none) return;
  if (!found || found->bytes < sizeof(GpuTimesSource)) {
    process->gpu_times = GpuTimesState::missing;
    return;
  }
  const char* refusal = found->start(process_folder());
  bool runs = refusal == nullptr;
  if (refusal) strncpy(process->gpu_times_refusal, refusal, sizeof process->gpu_times_refusal - 1);
  process->gpu_times = runs ? GpuTimesState::taken : GpuTimesState::refused;
  // release: what start() made is there for who finds the source. Pairs with the acquires below.
  if (runs) source.store(found, std::memory_order_release);
}

bool begin_gpu_work(uint32_t stack) {
  const GpuTimesSource* from = source.load(std::memory_order_acquire);
  if (!from) return true;
  if (plan().plan->gpu_times == kGpuTimesInWindows) {
    if (!windows.wants(stack, monotonic_now().count, Switch{from})) return false;
  } else if (paused.load(std::memory_order_relaxed) && paused.exchange(false, std::memory_order_relaxed)) {
    from->record(true);
  }
  OperationId id;
  if (next_operation(id)) from->begin(number_of(id));
  return true;
}

void end_gpu_work() {
  if (const GpuTimesSource* from = source.load(std::memory_order_acquire)) from->end();
}

void take_gpu_times() {
  const GpuTimesSource* from = source.load(std::memory_order_acquire);
  if (!from) return;
  if (calls.fetch_add(1, std::memory_order_relaxed) % kCallsBetween == kCallsBetween - 1) take(*from);
}

void finish_gpu_times() {
  const GpuTimesSource* from = source.exchange(nullptr, std::memory_order_acquire);
  if (!from) return;
  from->finish();
  while (take(*from) == kMost) {
  }
}

bool pause_gpu_times() {
  const GpuTimesSource* from = source.load(std::memory_order_acquire);
  if (!from) return true;
  const bool in_part = plan().plan->gpu_times == kGpuTimesInWindows;
  if (in_part ? !windows.end(Switch{from}) : Switch{from}(false)) return false;
  paused.store(true, std::memory_order_relaxed);
  from->deliver();
  while (take(*from) == kMost) {
  }
  return true;
}

void forget_gpu_times() { source.store(nullptr, std::memory_order_relaxed); }

}  // namespace diogenes::agent
