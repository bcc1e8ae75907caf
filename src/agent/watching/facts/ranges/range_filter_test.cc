// A 'no' is sure, whatever was added and removed; with nothing in it, the filter says 'no'.
#include "agent/watching/facts/ranges/range_filter.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace diogenes::agent::facts {
namespace {

TEST(RangeFilter, NeverMissesARangeThatIsThere) {
  auto filter = std::make_unique<RangeFilter>();
  std::mt19937_64 random(7);
  std::vector<AddressRange> there;
  for (int step = 0; step < 20'000; ++step) {
    if (there.size() < 40 && random() % 2 == 0) {
      const uintptr_t begin = random() % (uint64_t{1} << 47);
      there.push_back(AddressRange::of(begin, 1 + (random() >> (20 + random() % 44))));
      filter->add(there.back());
    } else if (!there.empty()) {
      const size_t at = random() % there.size();
      filter->remove(there[at]);
      there[at] = there.back();
      there.pop_back();
    }
    for (const AddressRange& range : there)
      for (uintptr_t address : {range.begin, range.begin + random() % range.size(), range.end - 1})
        ASSERT_TRUE(filter->may_overlap(AddressRange::of(address, 1)));
  }
  while (!there.empty()) {
    filter->remove(there.back());
    there.pop_back();
  }
  for (int i = 0; i < 10'000; ++i) {
    const uintptr_t address = random() % (uint64_t{1} << 47);
    ASSERT_FALSE(filter->may_overlap(AddressRange::of(address, 1)));
  }
}

TEST(RangeFilter, SaysNoFarFromASmallRange) {
  auto filter = std::make_unique<RangeFilter>();
  filter->add(AddressRange::of(0x7f00'0000'1000, 4096));
  EXPECT_TRUE(filter->may_overlap(AddressRange::of(0x7f00'0000'1000, 64)));
  EXPECT_FALSE(filter->may_overlap(AddressRange::of(0x7f00'0010'0000, 64)));
  EXPECT_TRUE(filter->may_overlap(AddressRange::of(0x7f00'0010'0000, 1 << 20)));  // too long to be looked up
  filter->clear();
  EXPECT_FALSE(filter->may_overlap(AddressRange::of(0x7f00'0000'1000, 64)));
}

TEST(RangeFilter, TakesARangeLargerThanItsTables) {
  auto filter = std::make_unique<RangeFilter>();
  const auto all = AddressRange::of(4096, uint64_t{1} << 47);
  filter->add(all);
  EXPECT_TRUE(filter->may_overlap(AddressRange::of(0x1234'5678'9000, 1)));
  filter->remove(all);
  EXPECT_FALSE(filter->may_overlap(AddressRange::of(0x1234'5678'9000, 1)));
}

}  // namespace
}  // namespace diogenes::agent::facts
