// What each stage does with the calls that the hooks see (docs/how-it-works.md):
//   baseline        the stacks on which the wait function is entered, nothing else
//   tracing         every outermost public call: times, wait, stack, arguments of transfers and allocations
//   memory_tracing  the same, and facts/ watches memory and hashes transfers
//   sync_use        as memory_tracing
//   gpu_times       as tracing
// In memory_tracing or gpu_times, as the plan says, the GPU's own times are taken (gpu_times_recorder.h).
// collector.cc does this; in the library of `diogenes prove`, which corrects waits and records nothing, proving/collector.cc.
#pragma once
#include "agent/core/calls/call.h"

namespace diogenes::agent {

// Between start_collecting() and stop_collecting(), and not in a process that could not open its folder.
bool collecting();
void start_collecting();
// Orderly end: closes what is open, marks the process file. Hooks pass straight through from then on. `inside`: the thread is in
// a call of the driver's or the agent's, which may hold locks: then only the end is marked.
void stop_collecting(ProcessEnd end, bool inside);
// In a forked child: starts anew.
void restart_collecting_in_child();

void collect_before(Call& call);  // Call::not_made: the driver is not called
void collect_after(Call& call);

// A call inside a call, so not seen further. If a signal's handler of the program's makes it, that one may have interrupted a
// hook while it waits (ThreadState::awaits), or the driver. `first`: its first argument; `from`: where it returns to.
void collect_unseen(uint16_t function, uint64_t first, uintptr_t from);
// Behind a call, before collect_after(). True: it is to be made once more.
bool is_made_again(Call& call);

// Stage 1: a wait function is entered, called from `caller`, the stack pointer being `stack_pointer`.
void collect_wait_stack(uint64_t caller, uintptr_t stack_pointer);

// A wait outside any public call.
void collect_private_wait(Nanoseconds begin, Nanoseconds end, uint8_t flag);

// Time that recording one operation added to the program, before its call's begin and after its end.
void count_hook_cost(const Call& call, Nanoseconds before, Nanoseconds after);

}  // namespace diogenes::agent
