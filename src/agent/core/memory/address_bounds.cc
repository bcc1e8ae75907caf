#include "agent/core/memory/address_bounds.h"

#include <algorithm>

namespace diogenes::agent {

namespace {

// What lies nearer to each other is one stretch.
constexpr uint64_t kApart = 1ull << 30;

uint64_t gap(AddressRange one, AddressRange other) {
  if (one.begin > other.begin) std::swap(one, other);
  return other.begin > one.end ? other.begin - one.end : 0;
}

AddressRange around(AddressRange one, AddressRange other) {
  return {std::min(one.begin, other.begin), std::max(one.end, other.end)};
}

}  // namespace

void AddressBounds::add(AddressRange range) {
  if (range.empty()) return;
  all_ = count_ == 0 ? range : around(all_, range);
  // A stretch that grows may come near to others: they are taken in one by one.
  for (;;) {
    int nearest = -1;
    for (int i = 0; i < count_; ++i)
      if (nearest < 0 || gap(stretches_[i], range) < gap(stretches_[nearest], range)) nearest = i;
    if (nearest < 0 || (count_ < kStretches && gap(stretches_[nearest], range) >= kApart)) break;
    range = around(stretches_[nearest], range);
    stretches_[nearest] = stretches_[--count_];
  }
  stretches_[count_++] = range;
}

}  // namespace diogenes::agent
