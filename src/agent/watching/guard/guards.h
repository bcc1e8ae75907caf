// Guards: the program's first touch of a range, found by the hardware (docs/necessity.md, Watching).
//
// A page guard takes away access to the pages of a range. The first touch of the range, by any thread or by a
// system call on the program's behalf, is kept in the guard itself and the pages are given back; nobody is
// called from the signal handler. The owner asks with collect(). A touch of another part of a guarded page is
// stepped over. A small range can be watched by watchpoints instead, where its pages must stay open.
//
// Owner: the collector of facts, which serialises its calls with its own lock. The signal handlers run at
// any time on any thread, also inside these calls' callers, take no lock, and never wait.
#pragma once
#include <cstddef>
#include <cstdint>

#include "agent/core/calls/frame_marks.h"
#include "base/range.h"
#include "base/units.h"

namespace diogenes::agent {

enum class Access : uint8_t { none, read, write, unknown };

enum class TouchBy : uint8_t {
  nobody,       // still untouched
  program,      // an instruction of the program or of a library
  driver,       // an instruction inside libcuda, or on a thread inside a driver call
  system_call,  // a system call was given the range
  exposed,      // its page stood open to other threads for a while: it may have been touched unseen
  gone,  // munmap, madvise(DONTNEED), free of the whole range, its stack frame has ended: released, not used
  given_up,  // taken down for fork, vfork, exec, an unknown system call, or a foreign signal handler
};

struct Touch {
  TouchBy by = TouchBy::nobody;
  Access access = Access::none;
  Nanoseconds at;         // CLOCK_MONOTONIC
  uintptr_t address = 0;  // first byte touched inside the range
  uint32_t stack = 0;     // StackIndex of the touching code; kNoStack where none
  uint32_t steps = 0;     // accesses beside the range that were stepped over before
  // So long before `at` the toucher had come: its stack was walked, others were awaited.
  Nanoseconds held;

  Nanoseconds came() const { return at - held; }
};

enum class Protection : uint8_t { no_access, read_only };  // read_only: against writing (reuse of a source)

enum class WatchMethod : uint8_t {
  pages,        // heap, pinned or managed memory
  watchpoints,  // small ranges whose pages must stay open: stacks, thread-local storage, shared with other
                // data
};

struct Watching {
  WatchMethod method = WatchMethod::pages;
  FrameMarks frame;  // of the stack frame that the range lies in
  // The driver mapped these pages: no thread has its stack or its local storage there, however near they lie.
  bool own_pages = false;
  uint32_t watch = 0;     // the guard's watch in the records; 0: nothing of it is recorded
  uint32_t deferral = 0;  // whoever touches its pages awaits this first (DeferredWaits); 0: nothing
  bool tells = false;     // DeferredWaits is told of a touch
};

using GuardHandle = uint32_t;
inline constexpr GuardHandle kNoGuard = 0;

// Installs the signal handlers and lets the kernel hand over the program's system calls (Syscall User
// Dispatch). Called once, at the first use of the driver, on any thread; registers the calling one. False:
// this process cannot be guarded (no Syscall User Dispatch, threads made without pthread_create, a debugger's
// dispatch already there, a job whose other processes may read this one's memory); raise_guard() then always
// refuses.
bool start_guards();

// A thread of the program begins (called on it, by pthread_create's wrapper; for the main thread when it
// makes its first one, or starts the guards). Threads of the driver are not registered.
void guard_this_thread(size_t stack_bytes = 0);
// The program switches to a coroutine's stack.
void note_coroutine_stack(AddressRange stack);

// The driver's code: touches by it are the driver's, threads made by it are not the program's.
void set_driver_range(AddressRange range);

// Called once, before there can be guards: they fall before a fork, and a child begins without them.
bool follow_forks();

// As copy_if_there(), and faster: without the kernel where this thread's faults come to the agent.
bool copy_watched_if_there(void* to, const void* from, uint64_t bytes);

// Code of the agent's that reads what lies on the program's stack without using it (the thunk, which passes
// on what may be arguments): its touches are nobody's. Once, before start_guards().
void set_transparent_code(AddressRange code);

// Raises a guard over the pages of `range`. kNoGuard: refused (limit reached, mprotect failed, a thread's
// stack, a thread that cannot be watched, a fork or a system call on these pages under way: count it as
// needed). /proc/self/maps is not read here: the caller passes ranges of heap, pinned or managed memory only,
// readable and writable. Ranges may overlap other guards' ranges and pages: each guard sees its own first
// touch. By watchpoints: refused too where the range does not fit into those that are free.
GuardHandle raise_guard(AddressRange range, Protection protection, const Watching& how = {});

// Why the owner's last call of raise_guard with Way::watchpoints was refused.
enum class NoWatchpoints : uint8_t { not_now, does_not_fit, none_here, all_taken };
NoWatchpoints why_no_watchpoints();

// Looks for touches by watchpoint whose signals have not come. Before the last collect() of a process.
void collect_unseen();

// What happened to it since it was raised. Cheap; may be called at any time until lower_guard.
Touch collect(GuardHandle guard);

// Touches of any guards so far. While it stays what it was before the owner last asked each of its guards,
// none of those has anything new to say. One load.
uint32_t touch_count();

// Takes a guard down for good (pages are given back unless another guard holds them) and returns the last
// word on it.
Touch lower_guard(GuardHandle guard);

// Takes down every guard over these bytes, because the driver is about to use them or they are about to be
// released. They report `by` unless they were touched before. The handles stay valid until lower_guard.
void open_range(AddressRange range, TouchBy by);

// Before fork, vfork, posix_spawn and exec: everything open, nothing lost.
void open_all(TouchBy by);

// From now on code of the program runs where its system calls are not seen (a callback that cannot be
// followed): everything is opened, and no guard is raised any more in this process.
void end_guarding();
bool guards_wanted();  // guards were started, and are not ended for good

// The driver runs the program's code on the calling thread: a host function, on one of its own threads or
// inside a call. From enter to leave that thread is one of the program's, whose touches are uses and whose
// system calls are dispatched; then it is what it was before. Where it cannot be, guarding ends.
struct ProgramCode {
  uint32_t depth = 0;
  bool registered = false;
};
void enter_program_code(ProgramCode& before);
void leave_program_code(const ProgramCode& before);

// Bytes of the calling thread's stack that lie below here; 0: it is on another stack, or not known.
uint64_t stack_left();

bool any_guard_up();  // one load; for interposed free and the like

// The calling thread is inside a driver call: its touches are the driver's, its system calls are not
// dispatched. Nests. Set by the thunk.
void enter_driver();
void leave_driver();

}  // namespace diogenes::agent
