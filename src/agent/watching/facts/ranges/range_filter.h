// Whether memory overlaps one of many ranges, asked without a lock by every free() of the program: 'no' is sure, and
// 'yes' is likely. Ranges are added and removed under the collector's lock. All zeros: empty.
#pragma once
#include <array>
#include <atomic>

#include "base/range.h"

namespace diogenes::agent::facts {

class RangeFilter {
 public:
  void add(AddressRange range) { count(range, 1); }
  void remove(AddressRange range) { count(range, ~uint32_t{0}); }
  bool may_overlap(AddressRange range) const {
    if (range.begin >> kSmall != (range.end - 1) >> kSmall) return true;  // not looked for piece by piece
    return small_[place(range.begin, kSmall)].load(std::memory_order_acquire) != 0 ||
           large_[place(range.begin, kLarge)].load(std::memory_order_acquire) != 0;
  }
  void clear() {
    for (Counters* counters : {&small_, &large_})
      for (auto& counter : *counters) counter.store(0, std::memory_order_relaxed);
  }

 private:
  using Counters = std::array<std::atomic<uint32_t>, 4096>;
  static constexpr int kSmall = 16, kLarge = 26;  // ranges of up to 4 MiB by 64 KiB, larger ones by 64 MiB

  static size_t place(uintptr_t address, int shift) {
    return (address >> shift) * 0x9e3779b97f4a7c15 >> 52;  // 12 bits
  }
  void count(AddressRange range, uint32_t by) {
    if (range.empty()) return;
    const bool small = range.size() <= uint64_t{64} << kSmall;
    const int shift = small ? kSmall : kLarge;
    Counters& counters = small ? small_ : large_;
    const uintptr_t first = range.begin >> shift, last = (range.end - 1) >> shift;
    if (last - first >= counters.size()) {
      for (auto& counter : counters) counter.fetch_add(by, std::memory_order_release);
    } else {
      for (uintptr_t at = first; at <= last; ++at)
        counters[place(at << shift, shift)].fetch_add(by, std::memory_order_release);
    }
  }

  Counters small_, large_;
};

}  // namespace diogenes::agent::facts
