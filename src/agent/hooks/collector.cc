#include "agent/hooks/collector.h"

#include <atomic>

#include "agent/core/calls/stream_numbers.h"
#include "agent/core/lock.h"
#include "agent/core/recording/gpu_times_recorder.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/stacks/stack.h"
#include "agent/core/windows.h"
#include "agent/hooks/baseline.h"
#include "agent/hooks/driver_image.h"
#include "agent/hooks/hook_probe.h"
#include "agent/hooks/x86_64/thunk.h"
#include "agent/watching/facts/fact_collector.h"
#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/watchpoints/watch_guards.h"
#include "agent/watching/guard/watchpoints/watchpoints.h"
#include "agent/watching/host_functions.h"
#include "agent/watching/order/order.h"
#include "agent/watching/peer_memory.h"
#include "agent/watching/value_follower.h"

namespace diogenes::agent {

namespace {

std::atomic<bool> running{false};
// In a forked child until its first call of the driver: most children never make one, and clearing costs.
std::atomic<bool> tables_are_the_parents{false};
Lock renewing;                      // ... and one thread makes them this process's
std::atomic<bool> starting{false};  // held by the one thread that starts what calls the driver
std::atomic<int64_t> hook_cost_total{0}, hook_cost_count{0};

constexpr int64_t kUsualRecording = 2'000;  // ns; what takes longer is noted by itself

bool is(Stage stage) { return plan().plan->stage == stage; }

// Times of 32 bits: nanoseconds up to 4.29 s, then units of 1,024 ns up to 73 minutes.
void set_times(OperationRecord& record, Nanoseconds call, Nanoseconds waited) {
  auto fits = [](int64_t ns) { return ns <= 0xffffffffll; };
  int shift = fits(call.count) && fits(waited.count) ? 0 : 10;
  if (shift) record.flags |= kCoarseTimes;
  auto narrow = [shift](int64_t ns) {
    int64_t units = ns < 0 ? 0 : ns >> shift;
    return static_cast<uint32_t>(units > 0xffffffffll ? 0xffffffffll : units);
  };
  record.call = narrow(call.count);
  record.waited = narrow(waited.count);
}

void note_initialized(const Call& call) {
  if (!call.driver->has(Trait::initializes) || !call.succeeded()) return;
  process_file()->used_cuda = 1;
  leave_driver_its_locks();
  process_file()->inside_call_ns = cost_inside_call();
  process_file()->inside_waiting_call_ns = cost_inside_waiting_call();
  set_transparent_code(
      {reinterpret_cast<uintptr_t>(diogenes_thunk), reinterpret_cast<uintptr_t>(diogenes_thunk_end)});
  if (stage_uses_guards() && process_file()->earlier_threads == 0)
    process_file()->earlier_threads = threads_running();
  if (starting.exchange(true, std::memory_order_acquire)) return;
  // Before there are guards: it opens files and makes threads, which are the driver's to the guards.
  if (takes_gpu_times() && window_open()) start_gpu_times();
  if (plan().plan->no_watchpoints) end_watchpoints();
  if (stage_uses_guards() && host_functions_are_hooked() && start_guards()) publish_guards();
  starting.store(false, std::memory_order_release);
}

// The first call of the first window: what CUPTI makes of launches stays until the process ends.
void start_gpu_times_in_window() {
  const ProcessFile* process = process_file();
  if (!process->used_cuda || process->gpu_times != GpuTimesState::none) return;
  if (starting.exchange(true, std::memory_order_acquire)) return;
  start_gpu_times();
  starting.store(false, std::memory_order_release);
}

void watch_before(Call& call) {
  if (tables_are_the_parents.load(std::memory_order_acquire)) {
    LockGuard guard(renewing);
    if (tables_are_the_parents.load(std::memory_order_relaxed)) facts::start();
    tables_are_the_parents.store(false, std::memory_order_release);
  }
  facts::before(call);
}

}  // namespace

bool collecting() { return running.load(std::memory_order_relaxed); }

void start_collecting() {
  if (stage_uses_guards()) facts::start();
  running.store(true, std::memory_order_relaxed);
  if (is(Stage::tracing) || takes_gpu_times()) probe_hooks();
}

void stop_collecting(ProcessEnd end, bool inside) {
  if (!running.exchange(false, std::memory_order_relaxed)) return;
  ProcessFile* process = process_file();
  if (!process) return;  // a forked child that never used the driver
  // What follows is ours. It takes up to a second where the GPU is sampled.
  process->ended_ns = monotonic_now().count;
  if (!inside) {
    value_source->finish();
    if (stage_uses_guards()) facts::finish();
    if (takes_gpu_times()) finish_gpu_times();
  }
  process->end = end;
}

void restart_collecting_in_child() {
  hook_cost_total.store(0, std::memory_order_relaxed);
  hook_cost_count.store(0, std::memory_order_relaxed);
  tables_are_the_parents.store(true, std::memory_order_relaxed);
  forget_gpu_times();
}

void collect_before(Call& call) {
  if (!open_process_folder()) return;
  if (is(Stage::baseline)) return;
  call.stack = capture_stack();
  number_objects(call);
  if (stage_uses_guards()) watch_before(call);
  // A capture is followed between windows, too, and must not begin records there.
  if (!takes_gpu_times() || !window_open()) return;
  if (control_page) start_gpu_times_in_window();
  if (!begin_gpu_work(call.stack)) call.flags |= kUntimed;
}

void collect_after(Call& call) {
  ProcessFile* process = process_file();
  if (!process) return;
  if (takes_gpu_times()) end_gpu_work();
  note_initialized(call);
  describe_device_once();
  if (is(Stage::baseline)) return;
  number_new_objects(call);
  if (stage_uses_guards()) facts::after(call);
  OperationRecord record{};
  record.type = RecordType::operation;
  record.flags = call.flags;
  record.function = call.function;
  record.stack = call.stack;
  record.begin_ns = call.begin.count;
  set_times(record, call.end - call.begin, call.waited);
  record.stream = call.stream;
  record.object = call.object;
  if (append(record, &call.id)) append_arguments(call);
  if (takes_gpu_times()) take_gpu_times();
  if (stage_uses_guards()) facts::record_call(call);
}

void collect_wait_stack(uint64_t caller, uintptr_t stack_pointer) {
  if (!open_process_folder()) return;
  process_file()->used_cuda = 1;
  leave_driver_its_locks();
  describe_device_once();
  if (!wait_stack_is_due(caller, stack_pointer)) return;
  uint32_t stack = capture_stack();
  if (stack == kNoStack || !first_sight_of(stack)) return;
  append(OperationRecord{.type = RecordType::operation,
                         .flags = kWaited,
                         .function = kWaitFunction,
                         .stack = stack,
                         .begin_ns = monotonic_now().count,
                         .stream = kNoStream});
}

void collect_private_wait(Nanoseconds begin, Nanoseconds end, uint8_t flag) {
  if (!open_process_folder()) return;
  OperationRecord record{};
  record.type = RecordType::operation;
  record.flags = flag | kDriverThread;
  record.function = kWaitFunction;
  record.stack = capture_stack();
  record.begin_ns = begin.count;
  set_times(record, end - begin, end - begin);
  record.stream = kNoStream;
  append(record);
}

void collect_unseen(uint16_t, uint64_t, uintptr_t) {}
bool is_made_again(Call&) { return false; }

void count_hook_cost(const Call& call, Nanoseconds before, Nanoseconds after) {
  const int64_t nanoseconds = (before + after).count;
  // One such walk would count for hundreds of calls in the mean, and lies where it lies.
  if (is(Stage::tracing) && nanoseconds > kUsualRecording && call.id.sequence != OperationId{}.sequence) {
    append(
        RecordingRecord{.type = RecordType::recording, .before_ns = before.count, .after_ns = after.count});
    return;
  }
  int64_t total = hook_cost_total.fetch_add(nanoseconds, std::memory_order_relaxed) + nanoseconds;
  int64_t count = hook_cost_count.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((count & 63) != 0) return;
  if (ProcessFile* process = process_file()) process->hook_cost_ns = total / count;
}

}  // namespace diogenes::agent
