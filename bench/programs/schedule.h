// What the schedules of bench-accuracy share: memory, streams, CPU work that takes as long as the clock says, and the
// result that makes the last wait needed.
#pragma once
#include <time.h>

#include "../../examples/common/gpu.h"

namespace schedules {

inline constexpr size_t kWords = 4096;

struct Run {
  example::Gpu& gpu;
  bool fixed;
  int iterations;
  uint64_t seed = 0;
};

inline void work(double us) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto ns = [&] { return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec; };
  const int64_t end = ns() + static_cast<int64_t>(us * 1000);
  while (ns() < end) clock_gettime(CLOCK_MONOTONIC, &now);
}

inline CUdeviceptr device_words(size_t count = kWords) {
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, count * 4));
  return memory;
}

inline CUstream stream() {
  CUstream made = nullptr;
  CHECK(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  return made;
}

// The result, copied back and read: the wait in here is needed.
inline void report(CUdeviceptr data) {
  static float* host = example::pinned_floats(kWords);
  CHECK(cuMemcpyDtoH(host, data, kWords * 4));
  std::printf("%016llx\n", static_cast<unsigned long long>(example::checksum(host, kWords)));
}

// threads.cpp: threads that wait for each other.
void backward(Run& run);
void queue(Run& run);
void pool(Run& run);

}  // namespace schedules
