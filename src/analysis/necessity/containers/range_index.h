// Ranges that may overlap, each with a number; finds those that overlap a range.
// Ranges of about the same size are kept together by their beginning, so that a search starts no further to
// the left than the largest of them reaches.
#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "analysis/necessity/containers/sorted_ranges.h"
#include "base/range.h"

namespace diogenes::necessity {

template <typename Number>
class RangeIndex {
 public:
  void add(AddressRange range, Number number) {
    sizes_[size_class(range)].add(range, number);
    used_ |= uint64_t{1} << size_class(range);
  }
  void remove(AddressRange range, Number number) {
    SortedRanges<Number>& same_size = sizes_[size_class(range)];
    same_size.remove(range, number);
    if (same_size.empty()) used_ &= ~(uint64_t{1} << size_class(range));
  }
  bool empty() const { return used_ == 0; }
  // May not add or remove meanwhile.
  template <typename Visit>
  void each_overlapping(AddressRange range, Visit visit) const {
    for (uint64_t left = used_; left != 0; left &= left - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(left));
      const uintptr_t reach = i >= 63 ? range.begin : std::min(range.begin, uintptr_t{2} << i);
      sizes_[i].each_from(range.begin - reach, range.end, [&](uintptr_t end, Number number) {
        if (end > range.begin) visit(number);
      });
    }
  }

 private:
  static size_t size_class(AddressRange range) {
    return range.size() == 0 ? 0 : static_cast<size_t>(std::bit_width(range.size()) - 1);
  }
  std::array<SortedRanges<Number>, 64> sizes_;  // by the logarithm of the size
  uint64_t used_ = 0;                           // bits of those that hold something
};

}  // namespace diogenes::necessity
