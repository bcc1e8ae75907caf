// Ranges of the region's name that were started (nvtxRangeStart) and not yet ended, by any thread. A range that has another
// name gets id 0, which is what the program gets without a tool.
#pragma once
#include <atomic>
#include <cstdint>

#include "nvtx/nvtx_abi.h"

namespace diogenes::nvtx {

class StartedRanges {
 public:
  // 0: there is no room for it. `process`: its id; ranges that a parent started before a fork make room.
  RangeId start(int32_t process) {
    const RangeId id = RangeId{static_cast<uint32_t>(process)} << 32 |
                       (1 + count_.fetch_add(1, std::memory_order_relaxed) % 0xffffffff);
    for (auto& slot : slots_) {
      RangeId there = slot.load(std::memory_order_relaxed);
      // relaxed: the slot is all there is.
      if ((there == 0 || there >> 32 != id >> 32) &&
          slot.compare_exchange_strong(there, id, std::memory_order_relaxed))
        return id;
    }
    return 0;
  }

  // True: it was open in this process.
  bool end(RangeId id, int32_t process) {
    if (id >> 32 != static_cast<uint32_t>(process)) return false;
    for (auto& slot : slots_) {
      RangeId there = id;
      if (slot.compare_exchange_strong(there, 0, std::memory_order_relaxed)) return true;
    }
    return false;
  }

 private:
  static constexpr int kMost = 64;
  std::atomic<uint32_t> count_{0};
  std::atomic<RangeId> slots_[kMost]{};
};

}  // namespace diogenes::nvtx
