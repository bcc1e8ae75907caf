// Time in the simulator: nanoseconds of CLOCK_MONOTONIC. All device times are on this clock.
#pragma once
#include <time.h>

#include <cstdint>

namespace diogenes::sim {

inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

// What the calling thread has run for: the time of its work, without what it did not have a processor for.
inline int64_t thread_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

inline void cpu_relax() { __builtin_ia32_pause(); }

// Keeps the calling CPU busy, as the driver's own work would.
inline void busy_until(int64_t end_ns) {
  while (now_ns() < end_ns) cpu_relax();
}

}  // namespace diogenes::sim
