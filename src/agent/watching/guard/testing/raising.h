// Guards by pages, for tests of several threads.
#pragma once
#include <unistd.h>

#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/testing/child.h"

namespace diogenes::agent {

inline GuardHandle guard_over(const void* begin, size_t bytes) {
  return raise_guard(range_of(begin, bytes), Protection::no_access);
}

// Raised in the end: a thread that was just made, or has just begun to wait, may refuse it at first.
inline GuardHandle guard_soon(const void* begin, size_t bytes) {
  for (int i = 0; i < 2000; ++i) {
    if (GuardHandle guard = guard_over(begin, bytes)) return guard;
    usleep(1000);
  }
  return kNoGuard;
}

}  // namespace diogenes::agent
