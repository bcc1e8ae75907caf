#include "agent/memory/address_bounds.h"

#include <algorithm>
#include <cstring>

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

bool AddressBounds::contain_any(const unsigned char* words, int count) const {
  uint64_t found = 0;
  for (int s = 0; s < count_; ++s) {
    uint64_t begin = stretches_[s].begin - kBelow, size = stretches_[s].size() + kBelow;
    for (int i = 0; i < count; ++i) {
      uint64_t word;
      memcpy(&word, words + 8 * i, sizeof word);
      found |= static_cast<uint64_t>(word - begin < size);
    }
  }
  return found != 0;
}

}  // namespace diogenes::agent
