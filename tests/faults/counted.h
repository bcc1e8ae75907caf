// What the program `counted` tells of itself while it runs, in a file that it shares with whoever kills it:
// the driver calls that have returned. It knows nothing of the tool's format, so it is what a trace can be
// compared with.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace diogenes::faults {

inline constexpr int kThreads = 3;
inline constexpr uint64_t kCycles = 100;  // of one thread: kCallsOfCycle calls each
inline constexpr uint64_t kCallsOfCycle = 3;
inline constexpr uint64_t kCalls = kThreads * kCycles * kCallsOfCycle;
inline constexpr uint64_t kDepths = 40;  // as many stacks lead to the call that waits, one after the other
inline constexpr size_t kSmallestCopy = 64;

struct CountedThread {
  std::atomic<int32_t> tid;
  std::atomic<uint64_t> returned;  // calls of the cycles: launch, copy, wait, launch, ...
};

// One file a run: PREFIX.RUN, zero at first. The n-th copy of each thread (from 0) is one of
// copy_bytes(n) bytes.
struct Counted {
  std::atomic<int32_t> pid;
  std::atomic<int32_t> finished;
  CountedThread threads[kThreads];

  uint64_t returned() const {
    uint64_t sum = 0;
    for (const CountedThread& thread : threads) sum += thread.returned.load(std::memory_order_acquire);
    return sum;
  }
};

inline constexpr uint64_t copy_bytes(uint64_t n) { return kSmallestCopy + 8 * n; }

}  // namespace diogenes::faults
