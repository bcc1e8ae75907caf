// The processor's watchpoints: four pieces of 1, 2, 4 or 8 bytes, aligned to their size, seen on every thread
// of the process. In: pieces. Out: SIGTRAP on the thread that touched one, right after the instruction, and a
// count of touches. What is touched by the kernel is not seen. Source: perf_event_open(2), breakpoints with
// `sigtrap` (Linux 5.13).
//
// An event is opened once, on each thread that exists then, and inherited by the threads that these make;
// later it is only moved, one call for a thread and all that it made. A thread that is being made meanwhile
// might get the event as it was before: arm_watchpoint() refuses then. A fork's child has no events; exec
// ends them.
//
// The files' numbers lie above the program's limit. One that closes them all the same is noticed before it
// does (watchpoint_files), and there are no watchpoints from then on.
//
// All under the table's lock, but is_watchpoint_trap.
#pragma once
#include <signal.h>

#include <cstdint>

#include "agent/watching/guard/guard.h"
#include "base/range.h"

namespace diogenes::agent {

// A small range in pieces as the processor's watchpoints take them: 1, 2, 4 or 8 bytes, aligned to their
// size. Pure arithmetic.
inline constexpr uint32_t kWatchRegisters = 4;

struct WatchPieces {
  uint32_t count = 0;  // 0: more than there are registers
  AddressRange pieces[kWatchRegisters];
};

// The fewest pieces that make up the range, and not a byte beside it.
WatchPieces watch_pieces(AddressRange range);

// Registers that this process can use; opens them at its first call. 0: none, now or for good.
uint32_t watch_registers();

bool no_watchpoints_here();  // for good

// Puts a register on a piece, on all threads. read_only: only writes are seen. False: it is on nothing.
bool arm_watchpoint(uint32_t index, AddressRange piece, Protection protection);
// Takes it off for the calling thread. On others it may stay where it is: to move it interrupts their processor,
// 8 us each on the machine of an H100, and the next guard is often on the same piece.
void disarm_watchpoint(uint32_t index);

// Touches that the register has seen, on all threads, since it was armed. Of a register that cannot be read:
// not 0.
uint64_t watchpoint_hits(uint32_t index);
// One of them was nobody's.
void forgive_hit(uint32_t index);

// Of our events; `address`: of the piece that was touched.
bool is_watchpoint_trap(const siginfo_t* info, uintptr_t& address);

// Is one of the files among these numbers?
bool watchpoint_files(uint64_t first, uint64_t last);
// Closes them: they are not ours any more, or this is a forked child.
void end_watchpoints();

}  // namespace diogenes::agent
