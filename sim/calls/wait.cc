#include "wait.h"

#include <sched.h>
#include <time.h>

namespace diogenes::sim {
namespace {

constexpr long kSleep = 20000;  // ns, under CU_CTX_SCHED_BLOCKING_SYNC
constexpr uint64_t kSpinsBeforeYield = 16;

// Moves the device on, where it is due and nobody else is at it.
void help_device(const WaitSet* set) {
  Device& gpu = device();
  if (late_mode) {
    const std::lock_guard held(gpu.lock);
    gpu.demand(set->ops, set->count);
    return;
  }
  const int64_t now = now_ns();
  if (gpu.next_event() <= now) gpu.help(now);
}

}  // namespace

std::atomic<uint64_t> waits_entered{0}, queue_waits_entered{0};

bool leaves_out_wait(ApiCall& call, const std::vector<OpPtr>& ops) {
  switch (call.listed()) {
    case Listed::no:
      return false;
    case Listed::skip:
      return true;
    case Listed::move: {
      const Held held = hold_device();
      return move_wait(ops);
    }
  }
  return false;
}

// The polling helper.
__attribute__((noipa)) bool poll_device(const WaitSet* set, uint64_t* first, uint32_t mode) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (; *first < set->count; ++*first) {
      const Op& op = *set->ops[*first];
      if (op.done.load(std::memory_order_acquire)) continue;
      if (mode == kWaitUntilRunning && op.running.load(std::memory_order_acquire)) continue;
      break;
    }
    if (*first == set->count) return true;
    if (attempt == 0) help_device(set);
  }
  return false;
}

__attribute__((noipa)) uint64_t wait_for_device(const WaitSet* set, uint32_t mode, uint32_t flags) {
  waits_entered.fetch_add(1, std::memory_order_relaxed);
  uint64_t polls = 0, first = 0;
  if (!poll_device(set, &first, mode)) {
    Device& gpu = device();
    const bool sleeps = (flags & kWaitSleeps) != 0;
    if (!sleeps) gpu.host_waiters.fetch_add(1, std::memory_order_relaxed);
    do {
      ++polls;
      if (sleeps) {
        const timespec pause{0, kSleep};
        nanosleep(&pause, nullptr);
      } else if (polls % kSpinsBeforeYield == 0) {
        sched_yield();
      } else {
        cpu_relax();
      }
    } while (!poll_device(set, &first, mode));
    if (!sleeps) {
      gpu.host_waiters.fetch_sub(1, std::memory_order_relaxed);
      gpu.nobody_waits();
    }
  }
  return polls;
}

__attribute__((noipa)) uint64_t wait_for_queue(Stream* stream, uint32_t limit) {
  queue_waits_entered.fetch_add(1, std::memory_order_relaxed);
  uint64_t polls = 0;
  while (stream->queued.load(std::memory_order_relaxed) >= limit) {
    if (late_mode) {
      const Held held = hold_device();
      device().demand(&stream->last, 1);
    } else {
      help_device(nullptr);
    }
    sched_yield();
    ++polls;
  }
  return polls;
}

}  // namespace diogenes::sim
