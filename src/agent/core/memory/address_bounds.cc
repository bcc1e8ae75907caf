#include "agent/core/memory/address_bounds.h"

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

// Four words at a time: it is looked through whatever is copied to the device, and the bus must not be faster.
[[gnu::target("avx2")]] static bool any_in(AddressRange range, const unsigned char* words, int count) {
  using Words [[gnu::vector_size(32)]] = uint64_t;
  Words found{};
  for (int i = 0; i + 4 <= count; i += 4) {
    Words four;
    memcpy(&four, words + 8 * i, sizeof four);
    found |= static_cast<Words>(four - range.begin < range.size());
  }
  return (found[0] | found[1] | found[2] | found[3]) != 0;
}

bool AddressBounds::contain_any(const unsigned char* words, int count) const {
  bool found = false;
  const int by_fours = __builtin_cpu_supports("avx2") ? count & ~3 : 0;
  for (int s = 0; s < count_ && by_fours > 0; ++s)
    if (any_in({stretches_[s].begin - kBelow, stretches_[s].end}, words, by_fours)) return true;
  for (int i = by_fours; i < count; ++i) {
    uint64_t word;
    memcpy(&word, words + 8 * i, sizeof word);
    found |= contain(word);
  }
  return found;
}

}  // namespace diogenes::agent
