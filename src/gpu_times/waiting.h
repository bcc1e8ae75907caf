// Waiting for another thread, for a limited time. Times are CLOCK_MONOTONIC's, in ns.
#pragma once
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace diogenes {

inline constexpr int64_t kSecond = 1'000'000'000;

inline void sleep_for(int64_t nanoseconds) {
  const timespec time{nanoseconds / kSecond, nanoseconds % kSecond};
  syscall(SYS_nanosleep, &time, nullptr);  // libc's is a place where a thread can be cancelled
}

inline int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

// False: it did not come true in time.
template <typename Condition>
bool wait_until(Condition condition, int64_t longest) {
  for (const int64_t begin = now_ns(); !condition(); sleep_for(100'000))
    if (now_ns() - begin >= longest) return false;
  return true;
}

}  // namespace diogenes
