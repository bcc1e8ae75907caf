// What is kept of calls between before() and after(): a decoded call is too large for the thunk's frame.
#pragma once
#include <atomic>

#include "agent/core/calls/call.h"
#include "agent/core/recording/recorder.h"
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

template <typename Kept>
class CallSlots {
 public:
  struct Slot {
    std::atomic<bool> used;
    DecodedCall decoded;
    Kept kept;
  };

  // Null: too many calls are under way.
  Slot* take(Call& call) {
    // The one that this thread had last, counted from 1: it is in its processor's cache. 0: it had none yet.
    __attribute__((tls_model("initial-exec"))) static thread_local constinit uint32_t last = 0;
    const uint32_t first = last ? last - 1 : next_.fetch_add(1, std::memory_order_relaxed);
    for (uint32_t i = 0; i < kSlots; ++i) {
      const uint32_t at = (first + i) % kSlots;
      Slot& slot = slots_[at];
      if (slot.used.load(std::memory_order_relaxed) || slot.used.exchange(true, std::memory_order_acquire))
        continue;
      call.pending = last = at + 1;
      return &slot;
    }
    call.pending = 0;
    count_drop(Drop::objects_full);
    return nullptr;
  }
  Slot* of(const Call& call) { return call.pending ? &slots_[call.pending - 1] : nullptr; }
  void release(Call& call) {
    if (Slot* slot = of(call)) slot->used.store(false, std::memory_order_release);
    call.pending = 0;
  }
  void reset() {
    for (auto& slot : slots_) slot.used.store(false, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kSlots = 256;
  alignas(64) Slot slots_[kSlots];
  std::atomic<uint32_t> next_;
};

}  // namespace diogenes::agent::facts
