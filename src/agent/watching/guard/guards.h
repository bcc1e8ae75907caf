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

#include "agent/watching/guard/guard.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

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

// Called once, before there can be guards: they fall before a fork, and a child begins without them.
bool follow_forks();

// Raises a guard over the pages of `range`. kNoGuard: refused (limit reached, mprotect failed, a thread's
// stack, a thread that cannot be watched, a fork or a system call on these pages under way: count it as
// needed). /proc/self/maps is not read here: the caller passes ranges of heap, pinned or managed memory only,
// readable and writable. Ranges may overlap other guards' ranges and pages: each guard sees its own first
// touch. By watchpoints: refused too where the range does not fit into those that are free.
GuardHandle raise_guard(AddressRange range, Protection protection, const Watching& how = {});

NoWatchpoints why_no_watchpoints();  // of the owner's last call of raise_guard

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

bool any_guard_up();  // one load; for interposed free and the like

}  // namespace diogenes::agent
