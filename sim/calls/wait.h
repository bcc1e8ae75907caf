// Where the driver waits for the GPU: one function under every call that does, and another for a full launch
// queue. Waits for a stream or an event look first, and do not enter it when all is done; a context's, and
// the others, enter it always (docs/driver-facts.md).
#pragma once
#include <cstdint>
#include <vector>

#include "device/prints.h"
#include "state.h"

namespace diogenes::sim {

enum WaitMode : uint32_t { kWaitUntilDone = 0, kWaitUntilRunning = 1 };
enum WaitFlags : uint32_t { kWaitSpins = 0, kWaitSleeps = 1 };

struct WaitSet {
  const OpPtr* ops;
  uint64_t count;
};

// How often each was entered, in this process.
extern std::atomic<uint64_t> waits_entered, queue_waits_entered;

// Is all of it done? Moves the device on where that is due.
bool poll_device(const WaitSet* set, uint64_t* first, uint32_t mode);
// The wait function. May be entered when nothing is left to wait for. Returns how often it polled before it
// was over.
uint64_t wait_for_device(const WaitSet* set, uint32_t mode, uint32_t flags);
// The other one.
uint64_t wait_for_queue(Stream* stream, uint32_t limit);

// Adversarial mode: is this wait one that is left out, or moved?
bool leaves_out_wait(ApiCall& call, const std::vector<OpPtr>& ops);

// What calls use: the wait, its time kept out of the call's cost, and the context's error afterwards. No lock
// held.
// Inlined always: on a real driver's stacks there is one function that all waiting calls share, not two.
[[gnu::always_inline]] inline CUresult wait_for(ApiCall& call, const std::vector<OpPtr>& ops,
                                                uint32_t mode = kWaitUntilDone, bool may_sleep = false) {
  if (late_mode && mode == kWaitUntilDone && leaves_out_wait(call, ops)) return CUDA_SUCCESS;
  const WaitSet set{ops.data(), ops.size()};
  const bool sleeps = may_sleep || (call.context && (call.context->flags & CU_CTX_SCHED_BLOCKING_SYNC) != 0);
  // Around it: what a tool adds to the wait function is not part of the call's cost, and makes it longer.
  const int64_t begin = now_ns();
  wait_for_device(&set, mode, sleeps ? kWaitSleeps : kWaitSpins);
  call.waited_ns += now_ns() - begin;
  if (mode == kWaitUntilDone) flush_prints();
  return call.context ? static_cast<CUresult>(call.context->sticky_error.load(std::memory_order_relaxed))
                      : CUDA_SUCCESS;
}
// The same, not entering the wait function when all is done.
[[gnu::always_inline]] inline CUresult wait_unless_done(ApiCall& call, const std::vector<OpPtr>& ops,
                                                        bool may_sleep = false) {
  if (!late_mode) {  // there the call is looked up, and counted, in wait_for()
    const WaitSet set{ops.data(), ops.size()};
    uint64_t first = 0;
    if (poll_device(&set, &first, kWaitUntilDone))
      return static_cast<CUresult>(call.context->sticky_error.load(std::memory_order_relaxed));
  }
  return wait_for(call, ops, kWaitUntilDone, may_sleep);
}
inline void wait_for_room(ApiCall& call, Stream& stream) {
  if (stream.queued.load(std::memory_order_relaxed) < kLaunchQueue) return;
  const int64_t begin = now_ns();
  wait_for_queue(&stream, kLaunchQueue);
  call.waited_ns += now_ns() - begin;
}

}  // namespace diogenes::sim
