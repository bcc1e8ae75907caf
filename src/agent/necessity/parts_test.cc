// Small ranges that need more watchpoints than there are: what one run of several says of its waits.
#include <gtest/gtest.h>

#include "agent/necessity/testing/timeline.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kX = 0x1000, kBytes = 4096;
constexpr uint32_t kRuns = 6;

struct OneOfSeveralRuns : Timeline {
  explicit OneOfSeveralRuns(uint32_t run) : Timeline(Stage::memory_tracing, run, kRuns) {
    stream(kX);
    world().planned_stacks = {world().stack};
  }
  char* host = static_cast<char*>(pageable(kBytes));
  uint64_t a = device(kBytes);
};

TEST(InParts, TheFirstRunSeesTheFirstPart) {
  OneOfSeveralRuns t(0);
  auto wait = t.d2h_async(t.host, t.a, 64, kX, true);
  EXPECT_FALSE(t.touch(t.host + 40));
  EXPECT_TRUE(t.touch(t.host + 24));
  EXPECT_EQ(t.reasons(wait), kCpuAccess | in_parts(2));
}

TEST(InParts, TheSecondRunSeesTheSecondPart) {
  OneOfSeveralRuns t(1);
  auto wait = t.d2h_async(t.host, t.a, 64, kX, true);
  EXPECT_FALSE(t.touch(t.host + 24));
  EXPECT_TRUE(t.touch(t.host + 40));
  EXPECT_EQ(t.reasons(wait), kCpuAccess | in_parts(2));
}

TEST(InParts, FourPartsAreTheMost) {
  OneOfSeveralRuns t(0);
  auto four = t.d2h_async(t.host, t.a, 128, kX, true);
  auto five = t.d2h_async(t.host + 512, t.a, 160, kX, true);
  EXPECT_EQ(t.reasons(four), in_parts(4));
  EXPECT_EQ(t.reasons(five) & kSmallRange, uint32_t{kSmallRange});
}

TEST(InParts, WhoeverTakesOverHangsOnItToo) {
  OneOfSeveralRuns t(0);
  auto first = t.d2h_async(t.host, t.a, 64, kX, true);
  auto second = t.synchronize(kX);
  EXPECT_EQ(t.reasons(first), in_parts(2));
  EXPECT_EQ(t.reasons(second), in_parts(2));
}

TEST(InParts, FurtherRunsWatchNothingElse) {
  OneOfSeveralRuns t(1);
  t.d2h_async(t.host, t.a, kBytes, kX, true);
  EXPECT_FALSE(t.guarded(t.host));
}

TEST(InParts, FurtherRunsSayWhomTheyDidNotLookAt) {
  OneOfSeveralRuns t(1);
  world().planned_stacks.clear();
  auto wait = t.d2h_async(t.host, t.a, 64, kX, true);
  EXPECT_FALSE(t.guarded(t.host));
  EXPECT_EQ(t.reasons(wait), kNotThisRun);
}

// X: write b, small result to the host | wait for all | copy b to the host, in another stream
// Whether the wait is needed for the order of the two streams, the first run says. If it is not, then the
// copy's wait does not cover the result, and the first use counts for the one before it.
TEST(InParts, FurtherRunsHandNothingOnForTheSakeOfOrder) {
  OneOfSeveralRuns t(1);
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
