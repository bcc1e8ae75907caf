// Ranges that may overlap, each with a number; finds those that overlap a range.
// Ranges of about the same size are kept together by their beginning, so that a search starts no further to
// the left than the largest of them reaches.
#pragma once
#include <array>
#include <bit>
#include <map>
#include <vector>

#include "base/range.h"

namespace diogenes::necessity {

template <typename Number>
class RangeIndex {
 public:
  void add(AddressRange range, Number number) {
    sizes_[size_class(range)].emplace(range.begin, Entry{range.end, number});
    used_ |= uint64_t{1} << size_class(range);
  }
  void remove(AddressRange range, Number number) {
    auto& same_size = sizes_[size_class(range)];
    for (auto at = same_size.find(range.begin); at != same_size.end() && at->first == range.begin; ++at) {
      if (at->second.number != number) continue;
      same_size.erase(at);
      if (same_size.empty()) used_ &= ~(uint64_t{1} << size_class(range));
      return;
    }
  }
  // May not add or remove meanwhile.
  template <typename Visit>
  void each_overlapping(AddressRange range, Visit visit) const {
    for (uint64_t left = used_; left != 0; left &= left - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(left));
      const uintptr_t reach = i >= 63 ? range.begin : std::min(range.begin, uintptr_t{2} << i);
      for (auto at = sizes_[i].lower_bound(range.begin - reach);
           at != sizes_[i].end() && at->first < range.end; ++at) {
        if (at->second.end > range.begin) visit(at->second.number);
      }
    }
  }

 private:
  struct Entry {
    uintptr_t end;
    Number number;
  };
  static size_t size_class(AddressRange range) {
    return range.size() == 0 ? 0 : static_cast<size_t>(std::bit_width(range.size()) - 1);
  }
  std::array<std::multimap<uintptr_t, Entry>, 64> sizes_;  // by the logarithm of the size
  uint64_t used_ = 0;                                      // bits of those that hold something
};

}  // namespace diogenes::necessity
