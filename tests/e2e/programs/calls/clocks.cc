// clocks: waits that nobody needs, with a clock read right behind them, in every way that programs read
// clocks; and some without..
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <chrono>

#include "cuda_user.h"

static std::atomic<int64_t> sink;
static uint32_t* data;

static int64_t monotonic() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

static void busy_us(int64_t us) {
  const int64_t end = monotonic() + us * 1000;
  while (monotonic() < end) {
  }
}

static void work() {
  for (uint32_t i = 0; i < 1'000'000; ++i) asm volatile("" ::: "memory");
}

// The GPU works for 200 us; what it brings is never read.
#define WAIT(name, behind)                             \
  [[gnu::noinline]] static void name(CudaUser& user) { \
    for (uint32_t i = 0; i < 10; ++i) {                \
      sink = monotonic();                              \
      user.compute_pinned(data, i);                    \
      behind;                                          \
    }                                                  \
  }

WAIT(with_clock_gettime, sink = monotonic())
WAIT(with_chrono, sink = std::chrono::system_clock::now().time_since_epoch().count())
WAIT(with_gettimeofday, timeval now; gettimeofday(&now, nullptr); sink = now.tv_usec)
WAIT(with_timespec_get, timespec now; timespec_get(&now, TIME_UTC); sink = now.tv_nsec)
WAIT(with_clock, sink = clock())
WAIT(without_a_clock, work())  // the next reading comes later

int main() {
  CudaUser user;
  data = CudaUser::pinned();
  with_clock_gettime(user);
  with_chrono(user);
  with_gettimeofday(user);
  with_timespec_get(user);
  with_clock(user);
  without_a_clock(user);
  busy_us(100);
  say("clocks went on: %d\n", monotonic() > 0 && clock() >= 0 && sink != 0);
  return 0;
}
