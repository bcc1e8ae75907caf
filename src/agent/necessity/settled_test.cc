// Who stays in the program settles what it covers; who was used at once may be leaned on; two threads that
// wait at the same time for the same work (instances.h).
#include <gtest/gtest.h>

#include "agent/necessity/testing/timeline.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kX = 0x1000, kY = 0x2000, kBytes = 4096;

struct Settled : ::testing::Test {
  Timeline t;
  uint64_t a = t.device(kBytes);
  void* host = t.pinned(kBytes);
  void SetUp() override {
    for (uint64_t stream : {kX, kY}) t.stream(stream, CU_STREAM_NON_BLOCKING);
  }
};

// X: fill a | wait X | Y: fill a | wait X again | Y: fill a
// The first orders the two streams and stays, so nothing leans on the second.
TEST_F(Settled, WhatAWaitThatOrdersCoversNeedsNoOther) {
  t.launch(kX, {a});
  auto first = t.synchronize(kX);
  t.launch(kY, {a});
  auto again = t.synchronize(kX);
  t.call("cuMemsetD8Async", {a, 0, 16, kY});
  EXPECT_EQ(t.reasons(first), kOrder);
  EXPECT_EQ(t.reasons(again), 0u);
}

TEST_F(Settled, LaterUsesOfWhatItCoversCountForNobodyElse) {
  t.launch(kX, {a});
  t.d2h_async(host, a, kBytes, kX);
  auto first = t.synchronize(kX);
  t.launch(kY, {a});
  auto again = t.synchronize(kX);
  EXPECT_TRUE(t.touch(host));
  EXPECT_EQ(t.reasons(first), kOrder);
  EXPECT_EQ(t.reasons(again), 0u);
}

// Its first use may be found to be later than the one that was seen: it would move, and settles nothing.
TEST_F(Settled, NotByOneThatCanBeMoved) {
  t.launch(kX, {a});
  t.d2h_async(host, a, kBytes, kX);
  auto first = t.synchronize(kX);
  EXPECT_TRUE(t.touch(host, false, TouchBy::program, 50'000));
  auto again = t.synchronize(kX);
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(first), kCpuAccess);
  EXPECT_EQ(t.reasons(again), kOrder);
}

// Used at once, it has nowhere to go: other work leans on it, rather than on one that nothing else needs.
TEST_F(Settled, OtherWorkLeansOnTheOneThatWasUsedAtOnce) {
  t.launch(kX, {a});
  t.d2h_async(host, a, kBytes, kX);
  auto first = t.synchronize(kX);
  EXPECT_TRUE(t.touch(host));
  auto again = t.synchronize(kX);
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(first), kCpuAccess | kOrder);
  EXPECT_EQ(t.reasons(again), 0u);
}

TEST_F(Settled, ButNotWhereTheLaterOneIsNeededAnyway) {
  void* other = t.pinned(kBytes);
  t.launch(kX, {a});
  t.d2h_async(host, a, kBytes, kX);
  auto first = t.synchronize(kX);
  EXPECT_TRUE(t.touch(host));
  t.d2h_async(other, a, kBytes, kX);
  auto again = t.synchronize(kX);
  EXPECT_TRUE(t.touch(other));
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(first), kCpuAccess);
  EXPECT_EQ(t.reasons(again), kCpuAccess | kOrder);
}

// X: fill a | Y: fill b | wait for all | wait X | legacy: fill b | legacy: fill a
// b leans on the first wait, which stays then, and has covered a, too.
TEST_F(Settled, WhatALaterWaitTookOverIsSettledWithTheEarlierOne) {
  const uint64_t b = t.device(kBytes);
  t.launch(kX, {a});
  t.launch(kY, {b});
  auto all = t.synchronize_context();
  auto x = t.synchronize(kX);
  t.launch(kLegacy, {b});
  t.launch(kLegacy, {a});
  EXPECT_EQ(t.reasons(all), kOrder);
  EXPECT_EQ(t.reasons(x), 0u);
}

// The same where one piece of work needs both, whichever stream is looked at first.
TEST_F(Settled, TheOldestIsLeanedOnFirst) {
  const uint64_t b = t.device(kBytes);
  t.launch(kX, {a});
  t.launch(kY, {b});
  auto all = t.synchronize_context();
  auto x = t.synchronize(kX);
  t.launch(kLegacy, {a, b});
  EXPECT_EQ(t.reasons(all), kOrder);
  EXPECT_EQ(t.reasons(x), 0u);
}

TEST_F(Settled, WhatTheEarlierOneDidNotCoverIsNot) {
  const uint64_t b = t.device(kBytes);
  t.launch(kX, {a});
  t.launch(kY, {b});
  auto all = t.synchronize_context();
  t.launch(kX, {a});
  auto x = t.synchronize(kX);
  t.launch(kLegacy, {a, b});
  EXPECT_EQ(t.reasons(all), kOrder);
  EXPECT_EQ(t.reasons(x), kOrder);
}

// Each thread may use the data behind its own wait, and only the first touch is seen.
TEST_F(Settled, TwoThreadsThatWaitAtTheSameTime) {
  t.launch(kX, {a});
  t.d2h_async(host, a, kBytes, kX);
  Timeline::Open one, two;
  t.begin(one, "cuStreamSynchronize", {kX});
  t.begin(two, "cuStreamSynchronize", {kX});
  two.thread = 1;
  auto first = t.end(one, true);
  auto second = t.end(two, true);
  EXPECT_TRUE(t.touch(host));
  EXPECT_NE(t.reasons(first) & kConcurrentWait, 0u);
  EXPECT_NE(t.reasons(second) & kConcurrentWait, 0u);
}

TEST_F(Settled, OneThreadBehindTheOther) {
  t.launch(kX, {a});
  t.d2h_async(host, a, kBytes, kX);
  auto first = t.synchronize(kX);
  Timeline::Open other;
  t.begin(other, "cuStreamSynchronize", {kX});
  other.thread = 1;
  auto second = t.end(other, true);
  EXPECT_TRUE(t.touch(host));
  EXPECT_EQ(t.reasons(first), 0u);
  EXPECT_EQ(t.reasons(second), kCpuAccess);
}

}  // namespace
}  // namespace diogenes::agent::testing
