// Was the program's code at rest on every thread but one, from one moment to another? Asked for the time in
// which a page stands open for a step (fault.cc): what nobody could touch was not touched.
//
// A thread is at rest
//   - inside one dispatched system call, or one LockCall (threads.h), from before the first moment until after
//     the second. Slot::calls counts them, and Slot::call_pending is cleared before the thread goes back, so it
//     is enough that both are the same at both moments. A signal handler of the program's would run meanwhile
//     and change neither: this holds only where the program has none;
//   - or asleep in the kernel: off its processor, as the kernel says (/proc/self/task/ID/syscall), and with
//     the same time and number of runs (schedstat) at both moments. This costs three files, and holds for
//     every thread, whatever it does.
// Threads that are not registered are the driver's; the program's code on them registers them (guards.h,
// enter_program_code). Whatever else they do is the driver's doing. A thread that comes in between counts as
// one that ran.
#pragma once

namespace diogenes::agent {

// Once, before any thread asks. Without the kernel's barrier only the second way is gone.
void prepare_rest_check();

// All under the table's lock. One thread at a time is between the two; for any other the answer is no.
bool begin_rest_check();      // before pages open
bool end_rest_check();        // after they were closed again; ends it
bool rest_check_under_way();  // pages may stand open for a thread's step

void forget_rest_check_in_child();

}  // namespace diogenes::agent
