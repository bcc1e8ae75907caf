// What happens on both sides of a hooked call. The state of a thread:
//
//   outside --public call--> in a public call --wait function--> in a wait (public) --> ...
//   outside --wait function--> in a wait (no public call: private API, the driver's own threads)
//   any, with pass > 0: the agent itself calls; every hook jumps straight on
//
// The outermost public call of a thread owns the record; the waits inside it are summed into it; public calls
// nested in it and waits nested in a wait jump straight on.
#include <pthread.h>

#include <atomic>

#include "agent/core/memory/copy.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/core/thread_state.h"
#include "agent/hooks/collector.h"
#include "agent/hooks/hook_probe.h"
#include "agent/hooks/windows.h"
#include "agent/hooks/x86_64/thunk.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/guards.h"
#include "agent/watching/host_functions.h"
#include "agent/watching/order/order.h"

namespace diogenes::agent {

__attribute__((tls_model("initial-exec"))) thread_local constinit ThreadState thread_state;

PassThrough::PassThrough() {
  ++thread_state.pass;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
}

PassThrough::~PassThrough() {
  pthread_setcancelstate(cancel_state_, nullptr);
  --thread_state.pass;
}

namespace {

constexpr int kNotMade = 3;  // of diogenes_on_enter

bool is_wait(uint16_t function) { return function == kWaitFunction || function == kQueueWaitFunction; }

int enter_wait(ThreadState& state, ThunkFrame* frame) {
  if (state.wait_depth > 0) return 0;
  if (plan().plan->stage == Stage::baseline) {
    PassThrough pass;
    state.call_frame = reinterpret_cast<uintptr_t>(frame->caller) + sizeof(uint64_t);
    collect_wait_stack(frame->caller[0], reinterpret_cast<uintptr_t>(frame->caller));
    return 0;
  }
  state.wait_depth = 1;
  frame->entered_ns = monotonic_now().count;
  return 1;
}

void exit_wait(ThreadState& state, ThunkFrame* frame) {
  int64_t now = monotonic_now().count;
  state.wait_depth = 0;
  uint8_t flag = frame->hook->function == kWaitFunction ? kWaited : kQueueFull;
  if (state.public_depth > 0) {
    state.waited_ns += now - frame->entered_ns;
    state.flags |= flag;
    return;
  }
  PassThrough pass;
  state.call_frame = reinterpret_cast<uintptr_t>(frame->caller) + sizeof(uint64_t);
  enter_driver();  // the agent's own system calls are not the program's
  collect_private_wait({frame->entered_ns}, {now}, flag);
  leave_driver();
}

// A coroutine may begin in the driver, at the very top of its stack.
bool stack_words_are_there(const ThunkFrame* frame) {
  const auto first = reinterpret_cast<uintptr_t>(frame->caller);
  const AddressRange words = AddressRange::of(first, 13 * sizeof(uint64_t)).pages();
  const AddressRange last{words.end - kPageSize, words.end};
  if (words.size() == kPageSize || may_be_guarded(last)) return true;
  char byte;
  enter_driver();  // the agent's own system calls are not the program's
  const bool there = copy_if_there(&byte, reinterpret_cast<const void*>(last.begin), 1);
  leave_driver();
  return there;
}

int enter_public(ThreadState& state, ThunkFrame* frame) {
  if (state.public_depth > 0 || state.wait_depth > 0) {
    collect_unseen(frame->hook->function, frame->integer[0], *frame->caller);
    return 0;
  }
  PassThrough pass;
  if (state.owes_order) write_owed_order();
  // Until exit_public: what this thread touches and which system calls it makes are the agent's or the
  // driver's.
  enter_driver();
  frame->entered_ns = monotonic_now().count;
  state.call_frame = reinterpret_cast<uintptr_t>(frame->caller) + sizeof(uint64_t);
  state.waited_ns = 0;
  state.flags = 0;
  state.printed = false;
  Call& call = *new (&frame->call) Call{};
  call.function = frame->hook->function;
  call.driver = driver_function(call.function);
  call.entered = {frame->entered_ns};
  for (int i = 0; i < 6; ++i) call.arguments.integer[i] = frame->integer[i];
  call.arguments.on_stack = frame->caller + 1;
  collect_before(call);
  if (call.not_made) {
    leave_driver();
    frame->result = static_cast<uint32_t>(call.result);
    return kNotMade;
  }
  if (stage_uses_guards()) wrap_host_function(call, frame->integer);
  state.public_depth = 1;
  call.begin = monotonic_now();
  return 1;
}

// True: it is to be made again.
bool exit_public(ThreadState& state, ThunkFrame* frame) {
  PassThrough pass;
  Call& call = frame->call;
  call.end = monotonic_now();
  call.result = static_cast<int32_t>(frame->result);
  if (is_made_again(call)) return true;
  call.waited = {state.waited_ns};
  call.flags |= state.flags;
  call.printed = state.printed;
  if (call.result != 0) call.flags |= kFailed;
  if (stage_uses_guards()) unwrap_host_function(call);
  collect_after(call);
  state.public_depth = 0;
  // What recording added: the time in the hook on both sides, less one clock reading that the call's own time
  // holds.
  Nanoseconds now = monotonic_now();
  count_hook_cost(call, call.begin - Nanoseconds{frame->entered_ns} - call.awaited, now - call.end);
  leave_driver();
  return false;
}

}  // namespace

extern "C" int diogenes_on_enter(ThunkFrame* frame) {
  ThreadState& state = thread_state;
  if (!collecting()) return 0;
  KeepErrno keep;
  if (state.pass > 0) {
    if (state.awaits && !is_wait(frame->hook->function))
      collect_unseen(frame->hook->function, frame->integer[0], *frame->caller);
    return 0;
  }
  if (__builtin_expect(frame->hook->function == kProbedFunction, 0)) return enter_probe(state, frame);
  if (state.public_depth == 0 && !all_is_recorded_now() && !frame->hook->always) return 0;
  const int enters = is_wait(frame->hook->function) ? enter_wait(state, frame) : enter_public(state, frame);
  return enters == 1 && !stack_words_are_there(frame) ? 2 : enters;
}

extern "C" bool diogenes_on_exit(ThunkFrame* frame) {
  KeepErrno keep;
  if (is_wait(frame->hook->function))
    exit_wait(thread_state, frame);
  else if (__builtin_expect(frame->hook->function == kProbedFunction, 0))
    exit_probe(thread_state, frame);
  else
    return exit_public(thread_state, frame);
  return false;
}

}  // namespace diogenes::agent
