// The judge on timelines with CUDA events, and with queries. Times as in judge_test.cc.
#include <gtest/gtest.h>

#include "analysis/necessity/testing/judged.h"

namespace diogenes::necessity::testing {
namespace {

constexpr MarkNumber mark0{0}, mark1{1};

TEST(Judge, AWaitForAnEventCoversWhatWasBeforeItsRecord) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).record(A, s0, mark0).work(A, s0, {host_write(m1)});
  t.begin(A).sync_mark(A, mark0, 0).watch(0, m0).end(A).touch(A, 0);
  t.begin(A).sync(A, {s0}, 1).watch(1, m1).end(A).touch(A, 1).ends();
  EXPECT_EQ(reasons(t), Reasons({kCpuAccess, kCpuAccess}));
}

TEST(Judge, OrderBetweenStreamsThatAnEventGivesToo) {
  Timeline t;
  t.work(A, s0, {device_write(m0)}).record(A, s0, mark0).sync(A, {s0}, 0).wait(A, s1, mark0);
  t.work(A, s1, {device_read(m0)}).ends();
  EXPECT_EQ(reasons(t), Reasons({0}));
}

TEST(Judge, AnElapsedTimeUsesTheWorkBeforeItsEvent) {
  Timeline t;
  t.work(A, s0, {device_write(m0)}).record(A, s0, mark0).sync_mark(A, mark0, 0).uses_mark(A, mark0).ends();
  EXPECT_EQ(reasons(t), Reasons({kDriverAccess}));
}

// The event is recorded behind a wait, and nobody has waited for the record itself.
TEST(Judge, AnElapsedTimeNeedsTheRecordToo) {
  const StreamNumber marker{7};
  Timeline t;
  t.work(A, s0, {device_write(m0)})
      .sync(A, {s0}, 0)
      .record(A, s0, mark0, false, marker)
      .sync_mark(A, mark0, 1);
  t.uses_mark(A, mark0).ends();
  EXPECT_EQ(reasons(t), Reasons({0, kDriverAccess}));
  // A wait for the stream does as well.
  Timeline by_stream;
  by_stream.record(A, s0, mark0, false, marker).sync(A, {s0}, 0).uses_mark(A, mark0).ends();
  EXPECT_EQ(reasons(by_stream), Reasons({kDriverAccess}));
  // ... and so does one for what comes later in it, in any stream that is ordered behind.
  Timeline by_another;
  by_another.record(A, s0, mark0, false, marker)
      .work(A, s0, {device_write(m0)})
      .record(A, s0, mark1)
      .wait(A, s1, mark1);
  by_another.work(A, s1, {device_write(m1)}).sync(A, {s1}, 0).uses_mark(A, mark0).ends();
  EXPECT_EQ(reasons(by_another), Reasons({kDriverAccess}));
  // Not one that began before the record: no wait orders the two.
  Timeline before;
  before.begin(A)
      .record(B, s0, mark0, false, marker)
      .sync(A, {s0}, 0)
      .end(A)
      .sync(B, {s0}, 1)
      .uses_mark(B, mark0)
      .ends();
  EXPECT_EQ(reasons(before), Reasons({0, kDriverAccess}));
}

TEST(Judge, AQueryThatSaidNotReadyOrders) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).query(A, s0, false).query(A, s0, true);
  watching_sync(t, A, {s0}, 0, 0).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({0}));
  Timeline at_once;
  at_once.work(A, s0, {host_write(m0)}).query(A, s0, true);
  watching_sync(at_once, A, {s0}, 0, 0).touch(A, 0).ends();
  EXPECT_EQ(reasons(at_once), Reasons({kCpuAccess}));
}

TEST(Judge, AQuerySaysNothingOfWorkThatWasGivenAfterItSaidNotReady) {
  Timeline t;
  t.work(A, s0, {host_write(m1)}).query(A, s0, false).work(A, s0, {host_write(m0)}).query(A, s0, true);
  watching_sync(t, A, {s0}, 0, 0).touch(A, 0).ends();
  EXPECT_NE(reasons(t)[0] & kCpuAccess, 0u);
}

TEST(Judge, ARecordAnewOfAnEventStandsForTheNewWorkOnly) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).record(A, s0, mark0).record(A, s1, mark0);
  t.sync_mark(A, mark0, 0);
  watching_sync(t, A, {s0}, 1, 0).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({0, kCpuAccess}));
}

TEST(Judge, AnOlderWriteOfTheSameMemoryIsRememberedWhileAnEventTellsThemApart) {
  // Both kernels may write all of m0, as far as is known; the CPU reads what the first one wrote, behind the
  // event between them.
  Timeline t;
  t.work(A, s0, {host_write(m0)}).record(A, s0, mark0).work(A, s0, {host_write(m0)});
  t.begin(A).sync_mark(A, mark0, 0).watch(0, m0).end(A).touch(A, 0).ends();
  Judge judge(0);
  t.replay(judge);
  judge.finish();
  EXPECT_EQ(judge.verdict(0).reasons, kCpuAccess);
}

}  // namespace
}  // namespace diogenes::necessity::testing
