// Whether the program reads a clock right behind a call that waits: such a call may be there for a timer,
// which would stop earlier without it. In: the ends of calls, and the program's calls of clock_gettime and
// its like (interpose/clocks.cc). Out: a ClockReadRecord for the first reading behind a call. Stage 3; in the
// others, and between waits, a reading costs one load more.
//
// Not seen: readings that make no call through the dynamic linker (rdtsc, a static libc, Go).
#pragma once
#include "agent/core/calls/call.h"
#include "agent/core/thread_state.h"

namespace diogenes::agent {

// A call has returned, at `now`; or the thread enters one.
void await_clock_read(ThreadState& state, const Call& call, Nanoseconds now);
inline void end_clock_wait(ThreadState& state) { state.awaits_clock = false; }

// `caller`: an address in the code that read, which may be the driver's or the agent's. `asked`: when it
// called.
void note_clock_read(uintptr_t caller, Nanoseconds asked);

}  // namespace diogenes::agent
