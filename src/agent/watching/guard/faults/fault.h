// The handlers of SIGSEGV, SIGBUS and SIGTRAP: first touches, and what is stepped over. State machine: guards.cc.
#pragma once
#include <signal.h>

namespace diogenes::agent {

void on_fault(int signal, siginfo_t* info, void* context);
void on_trap(int signal, siginfo_t* info, void* context);

}  // namespace diogenes::agent
