// Blocking copies: what they cover where they found all done, and what their own work, which may go on behind
// them, counts for.
#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

struct Blocking : Necessity {
  uint64_t a = t.device(kBytes), b = t.device(kBytes);
  void* host = t.pageable(kBytes);
  // It enters no wait: there was nothing to wait for.
  Operation h2d_at_once(uint64_t to) { return t.call("cuMemcpyHtoD_v2", {to, t.address(host), kBytes}); }
};

// legacy: write b | event | copy to a, which may go on | wait for the event | X: write b
// The copy has waited for b, too; but for the host's knowing of b the event's wait is enough.
TEST_F(Blocking, WhatIsKnownForCertainNeedsNoDoubtfulOne) {
  t.launch(kLegacy, {b});
  t.record(kE, kLegacy);
  auto copy = t.h2d(a, host, kBytes);
  auto wait = t.synchronize_event(kE);
  t.launch(kX, {b});
  EXPECT_EQ(t.reasons(wait), kOrder);
  EXPECT_EQ(t.reasons(copy), kNotNeeded);
}

// ... but it is all that orders what follows its own work.
TEST_F(Blocking, ItsOwnWorkIsKnownByItAlone) {
  t.launch(kLegacy, {b});
  t.record(kE, kLegacy);
  auto copy = t.h2d(a, host, kBytes);
  auto wait = t.synchronize_event(kE);
  t.launch(kX, {a});
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(t.reasons(copy), kOrder);
}

// How fast the GPU was is no matter: the copy would have waited.
TEST_F(Blocking, OneThatFoundAllDoneTakesOver) {
  t.launch(kLegacy, {b});
  auto wait = t.synchronize(kLegacy);
  auto copy = h2d_at_once(a);
  t.launch(kX, {b});
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(t.reasons(copy), kOrder);
}

TEST_F(Blocking, OneThatFoundAllDoneAndThatNobodyNeeds) {
  t.launch(kLegacy, {b});
  auto copy = h2d_at_once(a);
  t.launch(kLegacy, {b});
  EXPECT_EQ(t.reasons(copy), kNotNeeded);
}

TEST_F(Blocking, ItsDataIsWatchedWhereItFoundAllDone) {
  auto copy = t.call("cuMemcpyDtoH_v2", {t.address(host), a, kBytes});
  EXPECT_TRUE(t.touch(host));
  EXPECT_EQ(t.reasons(copy), kCpuAccess);
}

// What an asynchronous copy waits for depends on more than the stream.
TEST_F(Blocking, AnAsynchronousOneThatDidNotWaitSaysNothing) {
  t.launch(kX, {b});
  auto copy = t.h2d_async(a, host, kBytes, kX);
  t.launch(kY, {b});
  EXPECT_EQ(t.reasons(copy), ~0u);
}

}  // namespace
}  // namespace diogenes::agent::testing
