#include "analysis/necessity/containers/range_index.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace diogenes::necessity {
namespace {

using Numbers = std::vector<uint32_t>;

Numbers overlapping(const RangeIndex<uint32_t>& index, AddressRange range) {
  Numbers found;
  index.each_overlapping(range, [&](uint32_t number) { found.push_back(number); });
  return found;
}

TEST(RangeIndex, FindsByBeginningThenInTheOrderInWhichTheyCame) {
  RangeIndex<uint32_t> index;
  index.add({20, 30}, 1);
  index.add({10, 20}, 2);
  index.add({20, 30}, 3);
  EXPECT_EQ(overlapping(index, {15, 25}), (Numbers{2, 1, 3}));
  EXPECT_EQ(overlapping(index, {20, 21}), (Numbers{1, 3}));
  index.remove({20, 30}, 1);
  EXPECT_EQ(overlapping(index, {0, 100}), (Numbers{2, 3}));
  EXPECT_EQ(overlapping(index, {30, 100}), Numbers{});
}

// More of them than one piece holds, many that begin at the same address.
TEST(RangeIndex, FindsAllOfManyThatComeAndGo) {
  std::mt19937 random(1);
  auto below = [&](uint32_t end) { return random() % end; };
  RangeIndex<uint32_t> index;
  std::vector<std::pair<AddressRange, uint32_t>> held;
  for (uint32_t number = 0; number < 3'000; ++number) {
    const uintptr_t begin = below(2) ? 500 : below(1'000);
    held.emplace_back(AddressRange{begin, begin + 1 + below(below(10) ? 8 : 300)}, number);
    index.add(held.back().first, number);
    if (number % 3 == 0) {
      const size_t gone = below(static_cast<uint32_t>(held.size()));
      index.remove(held[gone].first, held[gone].second);
      held.erase(held.begin() + static_cast<ptrdiff_t>(gone));
    }
    const uintptr_t from = below(1'100);
    const AddressRange asked{from, from + below(40)};
    Numbers expected, found = overlapping(index, asked);
    for (const auto& [range, one] : held)
      if (range.begin < asked.end && range.end > asked.begin) expected.push_back(one);
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace diogenes::necessity
