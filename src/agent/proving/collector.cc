// The collector of the runs of `diogenes prove`: nothing is recorded, and calls that the plan names are the corrector's.
#include "agent/hooks/collector.h"

#include <atomic>

#include "agent/core/agent_code.h"
#include "agent/core/calls/driver_calls.h"
#include "agent/core/calls/stream_numbers.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/hooks/hook_probe.h"
#include "agent/hooks/x86_64/thunk.h"
#include "agent/proving/deferring.h"
#include "agent/proving/services.h"
#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/guard/watchpoints/watch_guards.h"
#include "agent/watching/guard/watchpoints/watchpoints.h"
#include "agent/watching/host_functions.h"
#include "driver/cuda_types.h"

namespace diogenes::agent {

namespace {

std::atomic<bool> running{false};
std::atomic<bool> starting{false};

void note_initialized(const Call& call) {
  if (!call.driver->has(Trait::initializes) || !call.succeeded()) return;
  process_file()->used_cuda = 1;
  set_transparent_code(
      {reinterpret_cast<uintptr_t>(diogenes_thunk), reinterpret_cast<uintptr_t>(diogenes_thunk_end)});
  if (starting.exchange(true, std::memory_order_acquire)) return;
  if (plan().plan->no_watchpoints) end_watchpoints();
  if (host_functions_are_hooked()) start_guards();
  starting.store(false, std::memory_order_release);
}

}  // namespace

bool collecting() { return running.load(std::memory_order_relaxed); }

void start_collecting() {
  facts::start();
  running.store(true, std::memory_order_relaxed);
  probe_hooks();
  start_corrector();
}

void stop_collecting(ProcessEnd end, bool) {
  if (!running.exchange(false, std::memory_order_relaxed)) return;
  the_corrector.finish();
  ProcessFile* process = process_file();
  if (!process) return;
  process->ended_ns = monotonic_now().count;
  process->end = end;
}

// Nothing is corrected there: the driver does not work in a forked child.
void restart_collecting_in_child() {
  running.store(false, std::memory_order_relaxed);
  the_corrector.forget();
}

void collect_before(Call& call) {
  if (!open_process_folder()) return;
  number_objects(call);
  name_site(call);
  call.not_made = the_corrector.before(described(call), &call.result, &call.awaited.count);
  if (!call.not_made) facts::before(call);
}

void collect_after(Call& call) {
  if (!process_file()) return;
  note_initialized(call);
  number_new_objects(call);
  facts::after(call);
  the_corrector.after(described(call), call.succeeded());
}

void collect_unseen(uint16_t function, uint64_t first, uintptr_t from) {
  if (in_agent_code(from) || in_driver_code(from)) return;
  PassThrough pass;
  if (the_corrector.before_unseen(*driver_function(function), first)) facts::note_unseen_call();
}

bool is_made_again(Call& call) {
  if (call.result != CUDA_ERROR_OUT_OF_MEMORY || call.made_again) return false;
  call.made_again = true;
  return the_corrector.make_room(described(call));
}

void collect_wait_stack(uint64_t, uintptr_t) {}
void collect_private_wait(Nanoseconds, Nanoseconds, uint8_t) {}

void count_hook_cost(const Call& call, Nanoseconds before, Nanoseconds after) {
  if (call.site == 0) return;
  // A wait that the GPU ends is over no later because it began later.
  const bool ended_by_gpu = call.waited + call.awaited > before;
  const int32_t inside = call.waited_at_all() ? cost_inside_waiting_call() : cost_inside_call();
  the_corrector.note_passed(call.site, call.function,
                            ended_by_gpu ? after.count : (before + after).count + inside);
}

}  // namespace diogenes::agent
