// System calls whose memory, or what they do to guards, no table says (syscalls.def): it depends on what their arguments ask
// for. Each is looked at before the call is made.
#pragma once
#include "agent/watching/guard/system_calls/dispatched.h"

namespace diogenes::agent {

void before_futex(Dispatched& call);
// Watchpoints hang on files: those that the program closes without knowing are given up first.
void before_closing(const Dispatched& call);
// A file that is some process's memory is used without a touch that is seen: guarding ends.
void before_opening(const Dispatched& call);
// ioctl, fcntl, prctl, arch_prctl, options of sockets.
void before_control(Dispatched& call);
// The kernel marks the robust locks that a thread holds at its end, when nothing of it is dispatched: guarding ends.
void before_end_of_thread();

}  // namespace diogenes::agent
