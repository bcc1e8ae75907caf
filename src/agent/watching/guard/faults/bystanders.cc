#include "agent/watching/guard/faults/bystanders.h"

#include <algorithm>
#include <atomic>

#include "agent/watching/guard/threads/threads.h"
#include "base/units.h"

namespace diogenes::agent {

namespace {

constexpr int64_t kMostPatience = 5'000'000;  // ns, for one touch
// Waiting in vain may take this much, and one part in so many of the time since the first wait.
constexpr int64_t kFreeWaits = 20'000'000, kPartInVain = 50;  // ns
// A system call that lasts longer is one that waits; a shorter one may be the post itself.
constexpr int64_t kLongCall = 50'000;  // ns

std::atomic<int64_t> first_wait{0};  // when it was
std::atomic<int64_t> in_vain{0};     // ns
std::atomic<uint32_t> waiting{0};    // threads that wait here

bool at_rest(const Slot& slot, int64_t waited) {
  return slot.asleep.load(std::memory_order_acquire) || slot.depth.load(std::memory_order_acquire) ||
         (waited > kLongCall && slot.call_pending.load(std::memory_order_acquire));
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
  const int64_t begin = monotonic_now().count;
  int64_t first = 0;
  if (first_wait.compare_exchange_strong(first, begin, std::memory_order_relaxed)) first = begin;
  const int64_t left = kFreeWaits + (begin - first) / kPartInVain - in_vain.load(std::memory_order_relaxed);
  const int64_t patience = std::min(left, kMostPatience);
  // Who waits here is about to touch something itself: two would wait for each other.
  bool alone = waiting.fetch_add(1, std::memory_order_acq_rel) == 0, rest = false;
  int64_t waited = 0;
  while (alone && !rest && waited < patience) {
    raw_syscall(SYS_sched_yield);
    waited = monotonic_now().count - begin;
    rest = others_rest(waited);
    alone = waiting.load(std::memory_order_acquire) == 1;
  }
  waiting.fetch_sub(1, std::memory_order_acq_rel);
  if (!rest) in_vain.fetch_add(waited, std::memory_order_relaxed);
}

}  // namespace diogenes::agent
