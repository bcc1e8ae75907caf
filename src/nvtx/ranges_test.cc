// What is open, by thread and by id. Process 1; 2 is a child of it.
#include <gtest/gtest.h>

#include "nvtx/started_ranges.h"
#include "nvtx/thread_ranges.h"

namespace diogenes::nvtx {
namespace {

constexpr bool kRegion = true, kOther = false;

TEST(ThreadRanges, TheOutermostOfTheNameCounts) {
  ThreadRanges ranges{};
  EXPECT_FALSE(ranges.push(0, kOther, 1));
  EXPECT_TRUE(ranges.push(0, kRegion, 1));
  EXPECT_FALSE(ranges.push(0, kOther, 1));
  EXPECT_FALSE(ranges.push(0, kRegion, 1)) << "it is inside already";
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(ranges.pop(0, 1));
  EXPECT_TRUE(ranges.pop(0, 1));
  EXPECT_FALSE(ranges.pop(0, 1));
  EXPECT_TRUE(ranges.push(0, kRegion, 1)) << "once more";
}

TEST(ThreadRanges, APopWithoutAPushIsIgnored) {
  ThreadRanges ranges{};
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ranges.pop(0, 1));
  EXPECT_TRUE(ranges.push(0, kRegion, 1));
  EXPECT_TRUE(ranges.pop(0, 1));
}

TEST(ThreadRanges, EachDomainHasAStack) {
  ThreadRanges ranges{};
  EXPECT_FALSE(ranges.push(7, kOther, 1));
  EXPECT_TRUE(ranges.push(0, kRegion, 1));
  EXPECT_FALSE(ranges.pop(7, 1));
  EXPECT_TRUE(ranges.pop(0, 1));
}

TEST(ThreadRanges, MayBeDeepAndOfManyDomains) {
  ThreadRanges ranges{};
  EXPECT_TRUE(ranges.push(0, kRegion, 1));
  for (int i = 0; i < 100'000; ++i) EXPECT_FALSE(ranges.push(0, kOther, 1));
  for (Domain domain = 1; domain < 100; ++domain) ranges.push(domain, kRegion, 1);
  for (Domain domain = 1; domain < 100; ++domain) EXPECT_EQ(ranges.pop(domain, 1), domain < 8) << domain;
  for (int i = 0; i < 100'000; ++i) EXPECT_FALSE(ranges.pop(0, 1));
  EXPECT_TRUE(ranges.pop(0, 1));
}

TEST(ThreadRanges, WhatWasPushedBeforeAForkIsTheParents) {
  ThreadRanges ranges{};
  EXPECT_TRUE(ranges.push(0, kRegion, 1));
  EXPECT_TRUE(ranges.push(0, kRegion, 2)) << "the child's own";
  EXPECT_TRUE(ranges.pop(0, 2));
  EXPECT_FALSE(ranges.pop(0, 2));
}

TEST(StartedRanges, AreEndedByTheirIdOnce) {
  StartedRanges ranges;
  const RangeId one = ranges.start(1), other = ranges.start(1);
  EXPECT_NE(one, 0u);
  EXPECT_NE(one, other);
  EXPECT_TRUE(ranges.end(one, 1));
  EXPECT_FALSE(ranges.end(one, 1));
  EXPECT_FALSE(ranges.end(12345, 1));
  EXPECT_TRUE(ranges.end(other, 1));
}

TEST(StartedRanges, AsManyAsThereIsRoomFor) {
  StartedRanges ranges;
  for (int i = 0; i < 64; ++i) EXPECT_NE(ranges.start(1), 0u);
  EXPECT_EQ(ranges.start(1), 0u);
  const RangeId childs = ranges.start(2);
  EXPECT_NE(childs, 0u) << "those of its parent make room";
  EXPECT_FALSE(ranges.end(childs, 1));
  EXPECT_TRUE(ranges.end(childs, 2));
}

}  // namespace
}  // namespace diogenes::nvtx
