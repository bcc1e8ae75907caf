// neighbours: results beside data that is used all the time, on the same pages of the heap, by this thread
// and by others.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "cuda_user.h"

int main() {
  CudaUser user;
  // The result ends in the middle of a page; the counters follow at once.
  auto* block = static_cast<char*>(malloc(2 * kBytes));
  auto* result = reinterpret_cast<uint32_t*>(block + 64);
  auto* counters = reinterpret_cast<std::atomic<uint64_t>*>(block + 64 + kBytes);
  for (int i = 0; i < 4; ++i) counters[i] = 0;
  uint64_t sums = 0;
  for (uint32_t i = 0; i < 50; ++i) {
    user.compute(result, i);
    for (int n = 0; n < 20000; ++n) ++counters[0];
    if (i % 5 == 0) sums += sum(result);
  }
  std::mutex mutex;
  std::condition_variable condition;
  bool end = false;
  std::thread waiting([&] {
    std::unique_lock lock(mutex);
    condition.wait(lock, [&] { return end; });
    ++counters[1];
  });
  std::atomic<bool> stop{false};
  for (uint32_t i = 0; i < 20; ++i) {
    user.compute(result, i);
    for (int n = 0; n < 10; ++n) ++counters[0];
  }
  std::thread busy([&] {
    // Once at least: on a busy machine it may start when all is over.
    do ++counters[2];
    while (!stop);
  });
  for (uint32_t i = 0; i < 20; ++i) {
    user.compute(result, i);
    for (int n = 0; n < 10000; ++n) ++counters[0];
    sums += sum(result);
  }
  stop = true;
  busy.join();
  {
    std::lock_guard lock(mutex);
    end = true;
  }
  condition.notify_one();
  waiting.join();
  say("counted %lu %lu, others %d, sums %lu\n", static_cast<unsigned long>(counters[0].load()),
      static_cast<unsigned long>(counters[1].load()), counters[2].load() > 0,
      static_cast<unsigned long>(sums));
  free(block);
  return 0;
}
