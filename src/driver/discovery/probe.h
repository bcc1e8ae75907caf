// Counts and times the calls of one function of this very process, through a HookSite. For the discovery
// child, which checks its candidates with it, and for tests of the planner. The target has the agent's
// patcher, which this does not replace: a probe takes a lock-free but not a signal-safe way, is never
// removed, and assumes that no thread is inside the first bytes.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/result.h"
#include "base/units.h"
#include "driver/hooking/hook_site.h"

namespace diogenes {

class Probe {
 public:
  // `image_base`: address of image offset 0 in this process. The probe lives as long as the process.
  static Result<Probe*> install(const HookSite& site, uintptr_t image_base);

  // Counts calls of that thread only; by default those of all threads.
  void only(pthread_t thread) {
    thread_.store(thread, std::memory_order_relaxed);
    every_thread_.store(false, std::memory_order_relaxed);
  }
  void reset();
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  Nanoseconds longest() const { return {longest_.load(std::memory_order_relaxed)}; }
  Nanoseconds total() const { return {total_.load(std::memory_order_relaxed)}; }

  // For the thunk.
  int64_t enter();
  void leave(int64_t begin);
  uintptr_t moved_code = 0;  // where the displaced instructions went; first member: the thunk knows its place

 private:
  Probe() = default;
  std::atomic<bool> every_thread_{true};
  std::atomic<pthread_t> thread_{};
  std::atomic<uint64_t> calls_{0};
  std::atomic<int64_t> longest_{0}, total_{0};
};

}  // namespace diogenes
