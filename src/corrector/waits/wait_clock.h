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

}  // namespace diogenes::corrector
