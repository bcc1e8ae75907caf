// The adversarial mode: a GPU that does nothing before somebody waits for it, and a driver that leaves out
// the waits that it is told to leave out. A program whose listed waits are needless prints the same; so the
// verdicts of a report are held against this, and not against our own opinion (tests/litmus, tests/random).
//
// On when DIOGENES_SIMULATED_LATE names a file of listed waits (it may be empty):
//   skip all als+0x1234 als+0x2345          the wait of every call from this place is left out
//   move 2,3 als+0x1234                     of the 2nd and 3rd call from there: it happens at the first touch
// A place is a stack, innermost frame first: file name of the module and offset of the return address less
// one (frames of the report, the inlined ones left out). As many frames as are listed are compared. A frame
// als+0x1200..0x1240 stands for any offset from the first to below the second. Calls are counted by place,
// from 1, over all threads. '#' starts a comment.
//
//   what     is left out                                          is done
//   copy     the wait: it becomes an asynchronous one             pageable sources are staged in the call;
//                                                                 pageable destinations are written late, and
//                                                                 their bytes lost if they are gone
//   free     the wait: the memory goes when the GPU is past it
//   others   the wait
//
// 'As late as the order permits': an operation runs when a wait, a query asked for the 64th time, or a moved
// wait needs it, and then only it and what the GPU orders before it, of two that no order ties the later one
// first. What is never asked for is never done. A program that waits by itself (for a host function, for
// mapped memory) goes on, too: with no driver call for 100 ms (DIOGENES_SIMULATED_LATE_PATIENCE_MS), or after
// 20 times that, all that was given runs.
// Durations are 0.
#pragma once
#include <cstdint>
#include <vector>

#include "device/op.h"
#include "late_mode.h"

namespace diogenes::sim {

void start_late_mode();

enum class Listed : uint8_t { no, skip, move };
// Is the wait of this call listed? Walks the caller's stack, and counts the call: once a call.
Listed listed_caller();

// Has a query been answered 'not ready' so often that the program may be waiting with it? Wants the device
// lock.
bool late_asked_enough();

// The wait for `ops` is moved to the first touch of the host memory that they and what precedes them write,
// or write to what they read, by an instruction, a system call or a copy. False: that cannot
// be seen (a range smaller than a page, or on a stack), so wait here. Wants the device lock.
bool move_wait(const std::vector<OpPtr>& ops);
// The GPU is about to read this host memory again: moved waits on it happen now. No lock held.
void late_touch(uintptr_t begin, uintptr_t end);

// Registered memory whose unregistration did not wait: for new calls it is pageable.
void late_retire(uintptr_t base);
bool late_retired(uintptr_t base);
void late_forget_retired(uintptr_t base);
// Memory that the program gave back in a way that no driver sees: a block of the heap, a stack frame's. Bytes
// that calls of before still bring to it are lost, as those to unmapped memory are. Programs of the tests say
// so by diogenes_simulated_gone().
void late_gone(uintptr_t begin, uintptr_t end);
uint64_t late_now();  // for late_gone_since
bool late_gone_since(uint64_t then, uintptr_t begin, uintptr_t end);
// Opens what moved waits keep closed and is done. Wants the device lock.
void open_moved();
// All that was given to the GPU is done when it returns; what waits for the program excepted. No lock held.
void late_finish_all();

// ---- System calls on memory that a moved wait keeps closed (late_calls.cc)

// From the first moved wait on, for all threads. `touched` is called with each piece of memory of a stopped
// call, on the calling thread. False: this system does not let us.
bool stop_calls_on_memory(void (*touched)(uintptr_t begin, uintptr_t end));

// A system call of the driver's own, that is never stopped. As the kernel returns it: -errno.
long unstopped_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0);

}  // namespace diogenes::sim
