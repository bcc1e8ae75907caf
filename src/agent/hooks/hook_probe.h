// What the hooks add inside a call, between the two clock readings that are its time: the thunk's way in and
// out, and in a call that waits, the same of the wait function with its two clock readings. Measured on the
// agent itself, by a function of its own that does nothing and is called as a hooked one is.
#pragma once
#include "agent/core/thread_state.h"
#include "agent/hooks/x86_64/thunk.h"

namespace diogenes::agent {

inline constexpr uint16_t kProbedFunction = 0xffe0;  // Hook::function; never in a plan nor in a record

// Measures; while collecting, outside any call, not in stage 1. Some microseconds.
void probe_hooks();
// Nanoseconds, in all: what of it lies in the wait is part of it. 0 before.
int32_t cost_inside_call();          // of a call that enters no wait function
int32_t cost_inside_waiting_call();  // of one that does, once

// The hook's two sides.
int enter_probe(ThreadState& state, ThunkFrame* frame);
void exit_probe(ThreadState& state, ThunkFrame* frame);

}  // namespace diogenes::agent
