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
  void add(const AddressBounds& others) {
    for (int i = 0; i < others.count_; ++i) add(others.stretches_[i]);
  }
  bool empty() const { return count_ == 0; }
  bool contain(uint64_t word) const {
    for (int i = 0; i < count_; ++i)
      if (near(stretches_[i], word)) return true;
    return false;
  }
  // Does an address in here have this upper part, its bits from `below` on?
  bool have_upper(uint64_t part, int below) const {
    for (int i = 0; i < count_; ++i)
      if (has_upper(stretches_[i], part, below)) return true;
    return false;
  }
  static bool has_upper(AddressRange range, uint64_t part, int below) {
    return (range.begin - kBelow) >> below <= part && part <= (range.end - 1) >> below;
  }
  // Does any of these words lie here? For many of them, without branches.
  bool contain_any(const unsigned char* words, int count) const;

 private:
  static bool near(AddressRange stretch, uint64_t word) {
    return word - (stretch.begin - kBelow) < stretch.size() + kBelow;
  }
  AddressRange stretches_[kStretches];  // in no order
  int count_;
};

}  // namespace diogenes::agent
