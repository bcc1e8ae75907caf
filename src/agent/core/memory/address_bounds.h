// Where addresses that matter lie: a quick no for words that are none. The driver gives memory in a few
// stretches that lie far apart (device memory, pools, the program's heap); one range over all of them would
// take most numbers for addresses. All zeros is empty. Grows only.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

class AddressBounds {
 public:
  // A word a little below memory may be that memory's, too: arrays that are counted from 1 are passed by the
  // address before their first element.
  static constexpr uint64_t kBelow = 128;
  static constexpr int kStretches = 8;

  void add(AddressRange range);
  bool contain(uint64_t word) const {
    if (!near(all_, word)) return false;  // most words, with one comparison
    for (int i = 0; i < count_; ++i)
      if (near(stretches_[i], word)) return true;
    return false;
  }

 private:
  static bool near(AddressRange stretch, uint64_t word) {
    return word - (stretch.begin - kBelow) < stretch.size() + kBelow;
  }
  AddressRange all_;
  AddressRange stretches_[kStretches];  // in no order
  int count_;
};

}  // namespace diogenes::agent
