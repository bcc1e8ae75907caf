// Small ranges that need more watchpoints than there are: what one run of several says of its waits.
#include <gtest/gtest.h>

#include "agent/guard/watch_pieces.h"
#include "agent/necessity/testing/timeline.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kX = 0x1000, kBytes = 4096;
constexpr uint32_t kRuns = 6;

struct OneOfSeveralRuns : Timeline {
  explicit OneOfSeveralRuns(uint32_t run) : Timeline(Stage::memory_tracing, run, kRuns) {
    stream(kX);
    world().registers = kWatchRegisters;
  }
  char* host = static_cast<char*>(pageable(kBytes));
  uint64_t a = device(kBytes);

  Operation copy(uint64_t bytes, uint64_t at = 0) { return d2h_async(host + at, a, bytes, kX, true); }
  std::vector<WatchedRecord> watched(Operation wait) {
    finish();
    std::vector<WatchedRecord> found;
    for (const WatchedRecord& record : world().watched)
      if (record.sequence == wait) found.push_back(record);
    return found;
  }
  // The records of an only range.
  WatchedRecord only(Operation wait) {
    auto found = watched(wait);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? WatchedRecord{} : found[0];
  }
};

// What it is called: the same in each run.
uint64_t name_of(uint64_t bytes) {
  OneOfSeveralRuns t(0);
  world().registers = 0;
  return t.only(t.copy(bytes)).range;
}

TEST(InParts, TheFirstRunSeesTheFirstPart) {
  OneOfSeveralRuns t(0);
  auto wait = t.copy(64);
  EXPECT_FALSE(t.touch(t.host + 40));
  EXPECT_TRUE(t.touch(t.host + 24));
  EXPECT_EQ(t.reasons(wait), kCpuAccess | kNotWhole);
  EXPECT_EQ(t.only(wait).part, 0);
  EXPECT_EQ(t.only(wait).parts, 2);
  EXPECT_EQ(t.only(wait).seen, 1);
}

TEST(InParts, TheSecondRunSeesThePartInItsPlan) {
  uint64_t name = name_of(64);
  OneOfSeveralRuns t(1);
  world().planned_parts = {part_key(name, 1)};
  auto wait = t.copy(64);
  EXPECT_FALSE(t.touch(t.host + 24));
  EXPECT_TRUE(t.touch(t.host + 40));
  EXPECT_EQ(t.reasons(wait), kCpuAccess | kNotWhole);
  EXPECT_EQ(t.only(wait).part, 1);
  EXPECT_EQ(t.only(wait).seen, 1);
  EXPECT_EQ(t.only(wait).range, name);
}

TEST(InParts, WhatIsNotInThePlanIsLeftAlone) {
  OneOfSeveralRuns t(1);
  auto wait = t.copy(8);
  EXPECT_FALSE(t.guarded(t.host));
  EXPECT_EQ(t.reasons(wait), 0u);
  EXPECT_TRUE(t.watched(wait).empty());
}

TEST(InParts, WhatIsInThePlanMayFindNoWatchpoints) {
  uint64_t name = name_of(8);
  OneOfSeveralRuns t(1);
  world().planned_parts = {part_key(name, 0)};
  world().registers = 0;
  auto wait = t.copy(8);
  EXPECT_EQ(t.reasons(wait), kNotWhole);
  EXPECT_EQ(t.only(wait).seen, 0);
}

// Of one part, and seen: the run says so, because another one did not.
TEST(InParts, FurtherRunsTellOfWholeRangesToo) {
  uint64_t name = name_of(8);
  OneOfSeveralRuns t(1);
  world().planned_parts = {part_key(name, 0)};
  auto wait = t.copy(8);
  EXPECT_EQ(t.reasons(wait), 0u);
  EXPECT_EQ(t.only(wait).seen, 1);
}

TEST(InParts, TheFirstRunTellsNothingOfThem) {
  OneOfSeveralRuns t(0);
  auto wait = t.copy(8);
  EXPECT_EQ(t.reasons(wait), 0u);
  EXPECT_TRUE(t.watched(wait).empty());
}

// Two copies by one call, of one size: what is watched of one says nothing of the other.
TEST(InParts, RangesOfOneName) {
  OneOfSeveralRuns t(0);
  t.d2h_async(t.host, t.a, 32, kX);
  t.d2h_async(t.host + 512, t.a, 32, kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kNotWhole);
  EXPECT_EQ(t.only(wait).seen, 0);
}

TEST(InParts, FourPartsAreTheMost) {
  OneOfSeveralRuns t(0);
  auto four = t.copy(128);
  auto five = t.copy(160, 512);
  EXPECT_EQ(t.reasons(four), kNotWhole);
  EXPECT_EQ(t.reasons(five) & kSmallRange, uint32_t{kSmallRange});
}

TEST(InParts, WhoeverTakesOverHangsOnItToo) {
  OneOfSeveralRuns t(0);
  auto first = t.copy(64);
  auto second = t.synchronize(kX);
  EXPECT_EQ(t.reasons(first), kNotWhole);
  EXPECT_EQ(t.reasons(second), kNotWhole);
  EXPECT_EQ(t.only(first).seen, 1);
  EXPECT_EQ(t.only(second).seen, 1);
}

TEST(InParts, FurtherRunsWatchNothingElse) {
  OneOfSeveralRuns t(1);
  t.d2h_async(t.host, t.a, kBytes, kX, true);
  EXPECT_FALSE(t.guarded(t.host));
}

// X: write b, small result to the host | wait for all | copy b to the host, in another stream
// Whether the wait is needed for the order of the two streams, the first run says. If it is not, then the
// copy's wait does not cover the result, and the first use counts for the one before it.
TEST(InParts, FurtherRunsHandNothingOnForTheSakeOfOrder) {
  uint64_t name = name_of(16);
  OneOfSeveralRuns t(1);
  world().planned_parts = {part_key(name, 0)};
  const uint64_t b = t.device(kBytes);
  t.stream(kX, CU_STREAM_NON_BLOCKING);
  t.launch(kX, {b});
  t.d2h_async(t.host, t.a, 16, kX, true);
  auto wait = t.synchronize_context();
  auto copy = t.d2h(t.pinned(kBytes), b, kBytes);
  EXPECT_TRUE(t.touch(t.host));
  EXPECT_EQ(t.reasons(wait), kCpuAccess | kOrder);
  EXPECT_EQ(t.reasons(copy), 0u);
}

TEST(InParts, AnOnlyRunWatchesNoParts) {
  Timeline t;
  t.stream(kX);
  char* host = static_cast<char*>(t.pageable(kBytes));
  auto wait = t.d2h_async(host, t.device(kBytes), 64, kX, true);
  EXPECT_EQ(t.reasons(wait), kSmallRange);
}

}  // namespace
}  // namespace diogenes::agent::testing
