// System calls on memory that a moved wait keeps closed (late.h): they are a first touch, too, and the kernel
// would answer them with EFAULT. Once a wait was moved, the calls that read or write the program's memory are
// stopped (seccomp, SIGSYS), the waits that they meet happen, and then they are made.
//
// For programs that do not block SIGSYS around such calls, and that execute no other program afterwards: the
// filter stays with them.
#pragma once
#include <cstdint>

namespace diogenes::sim {

// From the first moved wait on, for all threads. `touched` is called with each piece of memory of a stopped
// call, on the calling thread. False: this system does not let us.
bool stop_calls_on_memory(void (*touched)(uintptr_t begin, uintptr_t end));

// A system call of the driver's own, that is never stopped. As the kernel returns it: -errno.
long unstopped_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0);

}  // namespace diogenes::sim
