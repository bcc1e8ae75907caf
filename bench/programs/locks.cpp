// What locks cost: prints nanoseconds for a pthread_mutex_lock with its unlock, of a mutex that is free. A
// second thread exists, as libc does without atomics where there is one only.
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "../../examples/common/gpu.h"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

double now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void turns(int count) {
  for (int i = 0; i < count; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
}

// The best of ten: what else runs on the machine only adds.
double in_a_row() {
  constexpr int kTurns = 200'000;
  double best = 1e18;
  for (int i = 0; i < 10; ++i) {
    const double begin = now_ns();
    turns(kTurns);
    best = std::min(best, (now_ns() - begin) / kTurns);
  }
  return best;
}

// Median of one turn behind a call of the driver, less that of none.
double behind_a_call(double ns_per_tick) {
  constexpr int kCalls = 5'000;
  double medians[2];
  for (int count : {0, 1}) {
    std::vector<uint64_t> ticks;
    for (int i = 0; i < kCalls; ++i) {
      cuStreamSynchronize(nullptr);
      const uint64_t begin = (_mm_lfence(), __rdtsc());
      turns(count);
      _mm_lfence();
      ticks.push_back(__rdtsc() - begin);
    }
    std::nth_element(ticks.begin(), ticks.begin() + kCalls / 2, ticks.end());
    medians[count] = static_cast<double>(ticks[kCalls / 2]) * ns_per_tick;
  }
  return medians[1] - medians[0];
}

double by_two() {
  constexpr int kTurns = 1'000'000;
  const double begin = now_ns();
  std::thread other([] { turns(kTurns); });
  turns(kTurns);
  other.join();
  return (now_ns() - begin) / (2 * kTurns);
}

}  // namespace

int main() {
  std::thread([] {
    for (;;) pause();
  }).detach();
  const uint64_t tick = (_mm_lfence(), __rdtsc());
  const double begin = now_ns();
  const double before = in_a_row();
  const double ns_per_tick = (now_ns() - begin) / static_cast<double>(__rdtsc() - tick);
  example::Gpu gpu;
  turns(1);
  const double without = in_a_row();
  const double with = behind_a_call(ns_per_tick);
  turns(1);
  const double two = by_two();
  printf("%.1f %.1f %.1f %.1f\n", before, without, with, two);
  return 0;
}
