// A few ranges, in fixed room. Where there is none left, the nearest one grows: it holds too much then, never
// too little. All zeros is empty.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

class RangeSet {
 public:
  bool overlaps(AddressRange range) const {
    return std::any_of(ranges_, ranges_ + count_, [range](AddressRange one) { return one.overlaps(range); });
  }
  void add(AddressRange range) {
    AddressRange* nearest = nullptr;
    for (uint32_t i = 0; i < count_; ++i) {
      const AddressRange both = joined(ranges_[i], range);
      if (both.size() <= ranges_[i].size() + range.size()) {
        ranges_[i] = both;
        return;
      }
      if (!nearest || both.size() < joined(*nearest, range).size()) nearest = &ranges_[i];
    }
    if (count_ < kRanges)
      ranges_[count_++] = range;
    else
      *nearest = joined(*nearest, range);
  }
  void remove(AddressRange range) {
    for (uint32_t i = count_; i-- > 0;) {
      const AddressRange whole = ranges_[i];
      if (!whole.overlaps(range)) continue;
      const AddressRange low{whole.begin, std::max(whole.begin, range.begin)},
          high{std::min(whole.end, range.end), whole.end};
      if (!low.empty() && !high.empty() && count_ == kRanges) continue;
      ranges_[i] = ranges_[--count_];
      if (!low.empty()) ranges_[count_++] = low;
      if (!high.empty()) ranges_[count_++] = high;
    }
  }

 private:
  static AddressRange joined(AddressRange one, AddressRange other) {
    return {std::min(one.begin, other.begin), std::max(one.end, other.end)};
  }
  static constexpr uint32_t kRanges = 256;
  AddressRange ranges_[kRanges];
  uint32_t count_ = 0;
};

}  // namespace diogenes::agent
