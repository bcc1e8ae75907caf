#include "agent/watching/facts/ranges/driver_memory.h"

#include <gtest/gtest.h>

#include <memory>

namespace diogenes::agent::facts {
namespace {

Allocation made(AddressRange range, MemoryKind kind = MemoryKind::device) {
  return {range, kind, WatchRefusal::none, false, false, false};
}

struct MemoryMapTest : testing::Test {
  MemoryMapTest() : map(std::make_unique<MemoryMap>()) {}
  std::unique_ptr<MemoryMap> map;
};

TEST_F(MemoryMapTest, FindsWhatHoldsAnAddress) {
  map->add(made({0x2000, 0x3000}));
  map->add(made({0x1000, 0x1800}, MemoryKind::pinned));
  ASSERT_TRUE(map->find(0x17ff));
  EXPECT_EQ(map->find(0x17ff)->kind, MemoryKind::pinned);
  EXPECT_FALSE(map->find(0x1800));
  map->remove(0x1000);
  EXPECT_FALSE(map->find(0x1000));
}

TEST_F(MemoryMapTest, AWordJustBelowMemoryMeansIt) {
  map->add(made({0x2000, 0x3000}));
  EXPECT_TRUE(map->near(0x2000 - 8));
  EXPECT_FALSE(map->near(0x2000 - 4096));
}

TEST_F(MemoryMapTest, WhatIsMadeOverOtherMemoryReplacesIt) {
  map->add(made({0x1000, 0x2000}));
  map->add(made({0x2000, 0x3000}));
  map->add(made({0x1800, 0x2800}, MemoryKind::managed));
  EXPECT_FALSE(map->find(0x1000));
  EXPECT_FALSE(map->find(0x2900));
  EXPECT_EQ(map->find(0x1800)->range.size(), 0x1000u);
}

}  // namespace
}  // namespace diogenes::agent::facts
