// The clock of waits.
#pragma once
#include <time.h>

#include <cstdint>

namespace diogenes::corrector {

// CLOCK_MONOTONIC, in nanoseconds; without a system call.
inline int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// What reading it takes: the least of some readings.
inline int64_t reading_time() {
  int64_t least = now(), before = least;
  for (int i = 0; i < 32; ++i) {
    const int64_t next = now();
    if (next - before < least) least = next - before;
    before = next;
  }
  return least;
}

}  // namespace diogenes::corrector
