#include "agent/guard/bystanders.h"

#include <algorithm>
#include <atomic>

#include "agent/guard/threads.h"
#include "base/units.h"

namespace diogenes::agent {

namespace {

constexpr int64_t kMostPatience = 1'000'000, kLeastPatience = 8'000;  // ns
// A system call that lasts longer is one that waits; a shorter one may be the post itself.
constexpr int64_t kLongCall = 50'000;  // ns

std::atomic<int64_t> patience{kMostPatience};
std::atomic<uint32_t> waiting{0};  // threads that wait here

bool at_rest(const Slot& slot, int64_t waited) {
  return slot.asleep.load(std::memory_order_acquire) || slot.depth.load(std::memory_order_acquire) ||
         (waited > kLongCall && slot.in_flight.load(std::memory_order_acquire));
}

bool others_rest(int64_t waited) {
  const Threads threads = threads_now();
  for (uint32_t i = 0; i < threads.count; ++i) {
    const Slot& slot = threads.slots[i];
    if (&slot == guard_thread.slot || slot.thread.load(std::memory_order_acquire) == 0) continue;
    if (!at_rest(slot, waited)) return false;
  }
  return true;
}

}  // namespace

void await_bystanders() {
  if (others_rest(0)) return;
  const int64_t least = patience.load(std::memory_order_relaxed);
  const Nanoseconds begin = monotonic_now();
  // Who waits here is about to touch something itself: two would wait for each other.
  bool alone = waiting.fetch_add(1, std::memory_order_acq_rel) == 0, rest = false;
  for (int64_t waited = 0; alone && !rest && waited < least; waited = (monotonic_now() - begin).count) {
    raw_syscall(SYS_sched_yield);
    rest = others_rest(waited);
    alone = waiting.load(std::memory_order_acquire) == 1;
  }
  waiting.fetch_sub(1, std::memory_order_acq_rel);
  patience.store(rest ? std::min(2 * least, kMostPatience) : std::max(least / 2, kLeastPatience),
                 std::memory_order_relaxed);
}

}  // namespace diogenes::agent
