// Touches of ranges that are guarded by watchpoints, because no page guard can serve them: what a trap means. State machine of a
// guard: guards.cc.
#pragma once
#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

// Code of the agent's that reads what lies on the program's stack without using it (the thunk, which passes
// on what may be arguments): its touches are nobody's. Once, before start_guards().
void set_transparent_code(AddressRange code);

// In the handler of SIGTRAP. True: the signal was ours. Others may hide one of ours (the kernel keeps one
// SIGTRAP for a thread), so it looks at each.
bool take_watch_trap(siginfo_t* info, ucontext_t* context);

// The program is about to close these files.
void note_closing(uint64_t first, uint64_t last);

}  // namespace diogenes::agent
