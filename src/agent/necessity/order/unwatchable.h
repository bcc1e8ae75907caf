// Work whose effects on the host cannot be watched: too small, shared with others, not decoded, host
// functions. In: such work, by stream and tick. Out: the reasons for which a synchronization that newly
// covers it is needed. The first one that covers it is credited: it stays in the program, so a second wait
// behind it is still needless. Serialised by the collector's lock.
#pragma once
#include "agent/necessity/order/order.h"
#include "trace/format.h"

namespace diogenes::agent {

class UnwatchableWork {
 public:
  void note(Slot stream, Tick tick, uint32_t reasons) {
    for (int i = 0; i < kReasons; ++i)
      if (reasons & (1u << i)) last_[stream][i] = tick;
  }

  // For one that covers `stream` up to `up_to`, of which the host knew `known`. Only the last of each kind is
  // kept, so where that lies behind `up_to`, an earlier one may lie before it: it counts.
  uint32_t covered(Slot stream, Tick known, Tick up_to) const {
    uint32_t reasons = 0;
    if (up_to <= known) return 0;
    for (int i = 0; i < kReasons; ++i)
      if (last_[stream][i] > known) reasons |= 1u << i;
    return reasons;
  }

  void reset() {
    for (auto& stream : last_)
      for (auto& tick : stream) tick = 0;
  }

 private:
  static constexpr int kReasons = 14;
  Tick last_[kMaximumStreams][kReasons];
};

}  // namespace diogenes::agent
