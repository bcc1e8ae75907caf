// Threads that sleep: one that is asleep when the process ends has no record that would say so.
#include <atomic>

#include "agent/core/recording/recorder.h"
#include "agent/watching/order/order.h"
#include "base/units.h"

namespace diogenes::agent {

namespace {

// By thread file. 0: awake.
std::atomic<int64_t> asleep_since[kMaximumThreads];

}  // namespace

int64_t begin_sleep() {
  int64_t now = monotonic_now().count;
  if (uint32_t file = own_thread_file(); file < kMaximumThreads)
    asleep_since[file].store(now, std::memory_order_relaxed);
  // Release: who finds it asleep opens memory that it has not touched before (guard/faults/bystanders.h).
  if (Slot* slot = guard_thread.slot) slot->asleep.store(1, std::memory_order_release);
  return now;
}

Blocked end_sleep(int64_t begin) {
  if (Slot* slot = guard_thread.slot) slot->asleep.store(0, std::memory_order_release);
  if (uint32_t file = own_thread_file(); file < kMaximumThreads)
    asleep_since[file].store(0, std::memory_order_relaxed);
  return {monotonic_now().count - begin};
}

void record_sleepers() {
  int64_t now = monotonic_now().count;
  for (uint32_t file = 0; file < kMaximumThreads; ++file) {
    int64_t since = asleep_since[file].load(std::memory_order_relaxed);
    if (since == 0 || file == own_thread_file()) continue;
    append(OrderRecord{.type = RecordType::order,
                       .object = OrderObject::asleep_at_end,
                       .flags = kBlocked,
                       .at_ns = now,
                       .address = static_cast<uint64_t>(since),
                       .thread = file});
  }
}

}  // namespace diogenes::agent
