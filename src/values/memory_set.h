// A small set of bytes in memory: where copies of a value lie. In: ranges that get it, ranges that are overwritten. Fixed
// size, because it lives in someone else's process.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/range.h"

namespace diogenes::values {

class MemorySet {
 public:
  static constexpr int kMost = 48;

  bool empty() const { return count_ == 0; }
  bool full() const { return full_; }  // a range did not fit: the set says less than there is
  int count() const { return count_; }
  AddressRange operator[](int i) const { return ranges_[i]; }  // in the order of last growth
  void clear() { count_ = 0, full_ = false; }

  bool overlaps(AddressRange range) const {
    return std::any_of(ranges_, ranges_ + count_, [&](AddressRange one) { return one.overlaps(range); });
  }

  // Bit n: the set holds the byte at `address` + n. `bytes`: 64 at most.
  uint64_t mask(uintptr_t address, uint32_t bytes) const {
    uint64_t mask = 0;
    const AddressRange wanted = AddressRange::of(address, bytes);
    for (int i = 0; i < count_; ++i) {
      const AddressRange common = ranges_[i].intersection(wanted);
      if (common.empty()) continue;
      const uint64_t ones = common.size() >= 64 ? ~uint64_t{0} : (uint64_t{1} << common.size()) - 1;
      mask |= ones << (common.begin - address);
    }
    return mask;
  }

  void add(AddressRange range) {
    if (range.empty()) return;
    for (int i = 0; i < count_;) {
      if (ranges_[i].begin > range.end || ranges_[i].end < range.begin) {
        ++i;
        continue;
      }
      range = {std::min(range.begin, ranges_[i].begin), std::max(range.end, ranges_[i].end)};
      erase(i);
    }
    append(range);
  }

  void remove(AddressRange range) {
    for (int i = 0; i < count_;) {
      const AddressRange one = ranges_[i];
      if (!one.overlaps(range)) {
        ++i;
        continue;
      }
      erase(i);
      if (one.begin < range.begin) insert(i++, {one.begin, range.begin});
      if (range.end < one.end) insert(i++, {range.end, one.end});
    }
  }

  // The `bytes` bytes from `address` on hold what `bits` says.
  void set(uintptr_t address, uint32_t bytes, uint64_t bits) {
    remove(AddressRange::of(address, bytes));
    for (uint32_t at = 0; at < bytes && bits >> at != 0;) {
      at += static_cast<uint32_t>(__builtin_ctzll(bits >> at));
      const uint64_t rest = bits >> at;
      const uint32_t ones = ~rest == 0 ? 64 - at : static_cast<uint32_t>(__builtin_ctzll(~rest));
      add(AddressRange::of(address + at, std::min(ones, bytes - at)));
      at += ones;
      if (at >= 64) break;
    }
  }

 private:
  void erase(int i) {
    std::copy(ranges_ + i + 1, ranges_ + count_, ranges_ + i);
    --count_;
  }
  void insert(int i, AddressRange range) {
    if (count_ == kMost) {
      full_ = true;
      return;
    }
    std::copy_backward(ranges_ + i, ranges_ + count_, ranges_ + count_ + 1);
    ranges_[i] = range;
    ++count_;
  }
  void append(AddressRange range) { insert(count_, range); }

  AddressRange ranges_[kMost] = {};
  int count_ = 0;
  bool full_ = false;
};

}  // namespace diogenes::values
