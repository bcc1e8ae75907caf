#include "agent/watching/guard/range_set.h"

#include <gtest/gtest.h>

namespace diogenes::agent {
namespace {

TEST(RangeSet, HoldsWhatWasAddedAndNotRemoved) {
  static RangeSet set;
  set.add({0x1000, 0x5000});
  set.add({0x8000, 0x9000});
  EXPECT_TRUE(set.overlaps({0x4fff, 0x5000}));
  EXPECT_FALSE(set.overlaps({0x5000, 0x8000}));
  set.add({0x5000, 0x6000});  // grows the first
  set.remove({0x2000, 0x3000});
  EXPECT_TRUE(set.overlaps({0x1000, 0x2000}));
  EXPECT_FALSE(set.overlaps({0x2000, 0x3000}));
  EXPECT_TRUE(set.overlaps({0x5000, 0x6000}));
  set.remove({0, 0x10000});
  EXPECT_FALSE(set.overlaps({0, ~uintptr_t{0}}));
}

TEST(RangeSet, HoldsTooMuchWhenItIsFull) {
  static RangeSet set;
  for (uintptr_t i = 0; i < 1000; ++i) set.add({i * 0x10000, i * 0x10000 + 0x1000});
  for (uintptr_t i = 0; i < 1000; ++i) EXPECT_TRUE(set.overlaps({i * 0x10000, i * 0x10000 + 1})) << i;
  EXPECT_FALSE(set.overlaps({1000 * 0x10000, 1001 * 0x10000}));
  set.remove({0x20000, 0x21000});  // by itself, and by halves, where there is no room for both
  EXPECT_FALSE(set.overlaps({0x20000, 0x21000}));
  set.remove({500 * 0x10000 + 0x100, 500 * 0x10000 + 0x200});
  EXPECT_TRUE(set.overlaps({500 * 0x10000, 500 * 0x10000 + 1}));
}

}  // namespace
}  // namespace diogenes::agent
