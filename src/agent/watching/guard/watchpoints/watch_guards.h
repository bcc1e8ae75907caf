// Guards by watchpoints, for ranges that no page guard can serve: which guard has which registers, what a
// trap means, and when the memory was released rather than used. State machine of a guard: guards.cc.
//
// There are four registers, and a guard keeps its own until it is touched or lowered: a range that needs more
// than are free is refused. A register that is free again stays on its piece on other threads until it is
// needed elsewhere, or until they touch it (watchpoints.h).
//
// All under the table's lock, but take_watch_trap.
#pragma once
#include <signal.h>
#include <ucontext.h>

#include "agent/watching/guard/guard_table.h"

namespace diogenes::agent {

// Puts registers on the live guard's range. False: `why`.
bool give_registers(uint32_t id, NoWatchpoints& why);
void take_registers(uint32_t id);

// Was the guard touched, and the signal did not come (yet)?
bool touched_unseen(const Guard& guard);

// The frame that the guarded memory lies in has ended: nothing in it is used any more.
bool frame_ended(const FrameMarks& frame);

// In the handler of SIGTRAP. True: the signal was ours. Others may hide one of ours (the kernel keeps one
// SIGTRAP for a thread), so it looks at each.
bool take_watch_trap(siginfo_t* info, ucontext_t* context);

// The program is about to close these files.
void note_closing(uint64_t first, uint64_t last);

}  // namespace diogenes::agent
