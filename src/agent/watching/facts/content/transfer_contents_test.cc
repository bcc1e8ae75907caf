// What transfers bring, and what their destinations held: HashRecords.
#include <gtest/gtest.h>

#include <cstring>

#include "agent/watching/facts/testing/collected_program.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kBytes = 8192;

struct Contents : ::testing::Test, Program {
  const uint64_t there = device(kBytes), other = device(kBytes);
  char* host = static_cast<char*>(pinned(kBytes));

  void fill(char value) { memset(host, value, kBytes); }
  bool same_content(const Recorded& one, const Recorded& two) {
    return hash(one) && hash(two) && memcmp(hash(one)->hash, hash(two)->hash, 16) == 0;
  }
  Held held(const Recorded& copy) {
    EXPECT_TRUE(hash(copy));
    return hash(copy) ? hash(copy)->held : Held::unknown;
  }
};

TEST_F(Contents, SentAgainToWhereItStillIs) {
  fill(1);
  const Recorded first = h2d(there, host, kBytes), second = h2d(there, host, kBytes);
  synchronize(kLegacy);
  EXPECT_EQ(held(first), Held::unknown);
  EXPECT_EQ(held(second), Held::same);
  EXPECT_TRUE(same_content(first, second));
}

TEST_F(Contents, SentAgainToWhereAKernelWroteOver) {
  fill(1);
  h2d(there, host, kBytes);
  memset(reinterpret_cast<void*>(there), 2, kBytes);
  const Recorded second = h2d(there, host, kBytes);
  synchronize(kLegacy);
  EXPECT_EQ(held(second), Held::other);
}

TEST_F(Contents, OfOtherBytesIsAnother) {
  fill(1);
  const Recorded first = h2d(there, host, kBytes);
  host[kBytes - 1] = 2;
  const Recorded second = h2d(there, host, kBytes);
  EXPECT_FALSE(same_content(first, second));
}

TEST_F(Contents, AsynchronousCopiesToo) {
  fill(1);
  h2d_async(there, host, kBytes, kStream);
  const Recorded second = h2d_async(there, host, kBytes, kStream);
  EXPECT_FALSE(hash(second));  // until a wait covers the reading back
  synchronize(kStream);
  EXPECT_EQ(held(second), Held::same);
}

TEST_F(Contents, WhatNoWaitCoversIsNotKnown) {
  fill(1);
  h2d_async(there, host, kBytes, kStream);
  const Recorded second = h2d_async(there, host, kBytes, kStream);
  synchronize(kOtherStream);
  end();
  EXPECT_EQ(held(second), Held::unknown);
}

TEST_F(Contents, NothingIsReadBackDuringACapture) {
  fill(1);
  h2d(there, host, kBytes);
  call("cuStreamBeginCapture_v2", {kOtherStream, 0});
  const int before = world().driver_calls;
  const Recorded second = h2d(there, host, kBytes);
  EXPECT_EQ(world().driver_calls, before);
  call("cuStreamEndCapture", {kOtherStream, 0});
  EXPECT_EQ(held(second), Held::unknown);
}

TEST_F(Contents, CapturedAndFailedCopiesHaveNone) {
  const Recorded captured =
      call("cuMemcpyHtoDAsync_v2", {there, address(host), kBytes, kStream}, false, 0, kCapturing);
  const Recorded failed = call("cuMemcpyHtoD_v2", {there, address(host), kBytes}, false, 1);
  end();
  EXPECT_FALSE(hash(captured));
  EXPECT_FALSE(hash(failed));
}

TEST_F(Contents, StagingMemoryIsUsedAgain) {
  fill(1);
  h2d_async(there, host, kBytes, kStream);
  for (int i = 0; i < 1000; ++i) {
    const Recorded again = h2d_async(there, host, kBytes, kStream);
    synchronize(kStream);
    ASSERT_EQ(held(again), Held::same) << i;
  }
  EXPECT_EQ(world().drops[Drop::verification_full], 0);
}

TEST_F(Contents, FullStagingMemoryIsCounted) {
  fill(1);
  h2d_async(there, host, kBytes, kStream);
  for (int i = 0; i < 300; ++i) h2d_async(there, host, kBytes, kStream);
  EXPECT_GT(world().drops[Drop::verification_full], 0);
}

TEST_F(Contents, OnASmallStackTheDriverIsNotCalled) {
  fill(1);
  h2d_async(there, host, kBytes, kStream);
  const int before = world().driver_calls;
  for (const uint64_t left : {uint64_t{0}, uint64_t{16} << 10}) {
    world().stack_left = left;
    const Recorded again = h2d_async(there, host, kBytes, kStream);
    synchronize(kStream);
    EXPECT_EQ(held(again), Held::unknown);
    EXPECT_TRUE(hash(again));
  }
  EXPECT_EQ(world().driver_calls, before);
  EXPECT_EQ(world().drops[Drop::verification_full], 2);
  world().stack_left = 1 << 20;
  const Recorded again = h2d_async(there, host, kBytes, kStream);
  synchronize(kStream);
  EXPECT_EQ(held(again), Held::same);
}

TEST_F(Contents, BroughtToTheHost) {
  memset(reinterpret_cast<void*>(there), 3, kBytes);
  const Recorded first = d2h(host, there, kBytes), second = d2h(host, there, kBytes);
  EXPECT_TRUE(same_content(first, second));
  EXPECT_EQ(held(second), Held::same);
  host[0] = 4;
  EXPECT_EQ(held(d2h(host, there, kBytes)), Held::other);
}

// What a kernel was given may be a new result, which is no duplicate: what it overwrites is not read.
TEST_F(Contents, AKernelMayHaveWrittenTheSource) {
  d2h(host, there, kBytes);
  launch(kStream, {other});
  EXPECT_EQ(held(d2h(host, there, kBytes)), Held::same);
  launch(kStream, {there});
  EXPECT_EQ(held(d2h(host, there, kBytes)), Held::unknown);
  EXPECT_EQ(held(d2h(host, there, kBytes)), Held::same);
}

TEST_F(Contents, BroughtAsynchronouslyIsHashedBehindTheWait) {
  memset(reinterpret_cast<void*>(there), 3, kBytes);
  const Recorded copy = d2h_async(host, there, kBytes, kStream);
  EXPECT_FALSE(hash(copy));
  synchronize(kStream);
  EXPECT_TRUE(hash(copy));
}

TEST_F(Contents, MemoryThatIsNotThereIsNotRead) {
  const Recorded copy = call("cuMemcpyHtoD_v2", {there, 0x10, kBytes}, true, 1);
  EXPECT_FALSE(hash(copy));
}

TEST_F(Contents, ASourceUnderGuardIsRead) {
  d2h_async(host, there, kBytes, kStream);
  synchronize(kStream);
  ASSERT_TRUE(is_guarded(host));
  EXPECT_TRUE(hash(h2d(other, host, kBytes)));
}

}  // namespace
}  // namespace diogenes::agent::testing
