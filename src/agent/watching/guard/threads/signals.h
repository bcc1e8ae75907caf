// The program's signal handlers and masks, where ours stand in their place.
//
// Our handlers for SIGSEGV, SIGBUS, SIGTRAP and SIGSYS stay installed in the kernel; what the program asks for is
// kept here, told back when it asks, and called for what is not ours, with the mask that the kernel would have
// used. Where it asked for another stack than the one that ours runs on, guarding ends, and ours goes there, too.
// No watched thread blocks them in the kernel, be it by its mask, by the mask of a running handler, or by a frame
// that is returned to: which of them the program believes blocked is GuardThread::hidden_mask.
//
// In front of the handlers of other signals stands one that makes their code the program's, whatever they
// interrupted; it shows libc's handler of signal 32, which cancels threads, a dispatched call at its own site
// (undispatched_code.h).
#pragma once
#include <signal.h>
#include <ucontext.h>

#include "agent/watching/guard/system_calls/kernel.h"

namespace diogenes::agent {

using Handler = void (*)(int, siginfo_t*, void*);

// Installs ours, takes over what was there, and strips the masks of all other handlers. False: the kernel
// refused.
bool take_signals(Handler on_fault, Handler on_trap, Handler on_sys);

// Another's handler in the place of ours (set past us): it becomes the program's.
void reclaim_signals();

// In a forked child, which is not watched: the program's own handlers are put back.
void give_back_signals();

// rt_sigaction and rt_sigprocmask as the program means them. 0 or a negative error, as the kernel returns.
long program_sigaction(int signal, const void* action, void* old, size_t set_bytes);
long program_sigprocmask(ucontext_t* context, int how, const void* set, void* old, size_t set_bytes);

// Does any handler of the program's exist, of any signal? `at`: the answer holds while action_changes says
// the same. May be called under the table's lock.
bool program_has_handlers(uint32_t& at);

// A signal that is not ours: what the kernel would have done without us.
void deliver_to_program(int signal, siginfo_t* info, ucontext_t* context);

}  // namespace diogenes::agent
