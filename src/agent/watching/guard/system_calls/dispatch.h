// System calls of watched threads, before the kernel sees them (Syscall User Dispatch). State machine:
// guards.cc.
#pragma once
#include <signal.h>

namespace diogenes::agent {

void on_sys(int signal, siginfo_t* info, void* context);

}  // namespace diogenes::agent
