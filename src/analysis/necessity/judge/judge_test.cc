// The judge on literal timelines. Times are in ns; each event takes one unless at() says otherwise.
#include "analysis/necessity/judge/judge.h"

#include <gtest/gtest.h>

#include "analysis/necessity/testing/judged.h"

namespace diogenes::necessity::testing {
namespace {

constexpr Wait kImplicit{true, true, true, false}, kUnchangeable{false, false, true, false};
constexpr Wait kUndocumented{true, false, false, false}, kOwn{true, false, true, true};

TEST(Judge, AWaitBeforeTheFirstUseIsNeeded) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).watch(0, m0);
  t.at(100).end(A).at(130).touch(A, 0).ends();
  const std::vector<Verdict> verdicts = judged(t);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].reasons, kCpuAccess);
  EXPECT_EQ(verdicts[0].after_ns, 30);
}

TEST(Judge, AWaitWhoseDataNobodyTouchesIsNot) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({0}));
}

TEST(Judge, OfTwoWaitsInARowTheFirstIsNotNeeded) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).sync(A, {s0}, 1).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({0, kCpuAccess}));
}

TEST(Judge, AWaitForAnotherStreamIsNotNeeded) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).work(A, s1, {device_write(m1)}).sync(A, {s1}, 0);
  watching_sync(t, A, {s0}, 1, 0).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({0, kCpuAccess}));
}

TEST(Judge, TheSameWaitIsChosenForEachUse) {
  // Site 0 is needed in the end, so it is credited from the start, and site 1 is not needed at all.
  Timeline t;
  for (uint32_t i = 0; i < 2; ++i) {
    t.work(A, s0, {host_write(m0)});
    watching_sync(t, A, {s0}, 0, 2 * i).sync(A, {s0}, 1).touch(A, 2 * i);
  }
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 8).touch(A, 8).ends();
  EXPECT_EQ(reasons(t), Reasons({kCpuAccess, 0, kCpuAccess, 0, kCpuAccess}));
}

TEST(Judge, PrefersWhatTheUserCannotChangeThenExplicitWaits) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  t.begin(A).sync(A, {s0}, 0, kUnchangeable).watch(0, m0).end(A).sync(A, {s0}, 1).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({kCpuAccess, 0}));
  Timeline u;
  u.work(A, s0, {host_write(m0)});
  watching_sync(u, A, {s0}, 0, 0).sync(A, {s0}, 1, kImplicit).touch(A, 0).ends();
  EXPECT_EQ(reasons(u), Reasons({kCpuAccess, 0}));
  Timeline v;
  v.work(A, s0, {host_write(m0)});
  watching_sync(v, A, {s0}, 0, 0).sync(A, {s0}, 1, kUndocumented).touch(A, 0).ends();
  EXPECT_EQ(reasons(v), Reasons({kCpuAccess, 0}));
}

TEST(Judge, AWaitForItsOwnWorkHasNoVerdictAndStays) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  t.begin(A).sync(A, {s0}, 0, kOwn).watch(0, m0).end(A).sync(A, {s0}, 1).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({kOwnWork, 0}));
}

TEST(Judge, WritingASourceThatACopyMayStillReadNeedsTheWait) {
  Timeline t;
  t.work(A, s0, {host_read(m0)});
  watching_sync(t, A, {s0}, 0, 0, m0, true).touch(A, 0, true).ends();
  EXPECT_EQ(reasons(t), Reasons({kSourceReuse}));
}

TEST(Judge, SystemCallsAndTheDriverUseDataToo) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).touch(A, 0, false, Toucher::system_call);
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 1, 1).touch(A, 1, false, Toucher::driver).ends();
  EXPECT_EQ(reasons(t), Reasons({kSystemCall, kDriverAccess}));
}

TEST(Judge, OrderBetweenStreamsByAWaitAlone) {
  Timeline t;
  t.work(A, s0, {device_write(m0)}).sync(A, {s0}, 0).work(A, s1, {device_read(m0)}).ends();
  EXPECT_EQ(reasons(t), Reasons({kOrder}));
}

TEST(Judge, DataThatGoesBackToTheGpuFromAnotherStream) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).watch(0, m0).at(50).end(A);
  t.at(60).begin(A).work(A, s1, {host_read(m0)}).end(A).ends();
  const std::vector<Verdict> verdicts = judged(t);
  EXPECT_EQ(verdicts[0].reasons, kDeviceReuse);
  EXPECT_EQ(verdicts[0].after_ns, 10);
}

TEST(Judge, AKernelThatMayWriteWhatItReadsIsOrderAndNoReading) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).watch(0, m0).at(50).end(A);
  t.at(60).begin(A).work(A, s1, {host_read(m0), host_write(m0)}).end(A).ends();
  EXPECT_EQ(reasons(t), Reasons({kOrder}));
}

TEST(Judge, WorkOfAnotherThreadInTheSecondStreamInheritsTheOrder) {
  // B knows nothing of A's wait; but its work is in the stream behind work that A gave after it.
  Timeline t;
  t.work(A, s0, {device_write(m0)}).sync(A, {s0}, 0).work(A, s1, {device_write(m1)});
  t.work(B, s1, {device_read(m0)}).ends();
  EXPECT_EQ(reasons(t), Reasons({kOrder | kOtherThread}));
}

Access argument(MemoryNumber memory) {
  Access access = device_write(memory);
  access.argument = true;
  return access;
}

// The kernel in s1 was given m1 and is pending; a fill in s2 writes m1 behind the wait, and s1's next work reads
// what s0 wrote.
TEST(Judge, AKernelMayPollWhatOtherWorkWritesLater) {
  Timeline t;
  t.work(A, s0, {device_write(m0)}).work(A, s1, {argument(m1)}).work(A, s1, {device_read(m0)});
  t.sync(A, {s0}, 0).work(A, s2, {device_write(m1)}).ends();
  Judge first;
  t.replay(first);
  EXPECT_TRUE(first.polling().contains(s1, 1));
  EXPECT_FALSE(first.polling().contains(s1, 2));
  Judge second;
  GateMarker marked(first.polling(), second);
  t.replay(marked);
  second.finish();
  EXPECT_EQ(second.verdict(0).reasons, kLetsGo);
}

TEST(Judge, AKernelPollsNothingThatIsWrittenWhenItIsDoneOrByItsOwnKind) {
  const auto polls = [](const Timeline& timeline) {
    Judge judge;
    timeline.replay(judge);
    return !judge.polling().empty();
  };
  Timeline waited, ordered, kernel, copy, large;
  waited.work(A, s1, {argument(m1)}).sync(A, {s1}, 0).work(A, s2, {device_write(m1)}).ends();
  EXPECT_FALSE(polls(waited));
  ordered.work(A, s1, {argument(m1)})
      .record(A, s1, MarkNumber{0})
      .wait(A, s2, MarkNumber{0})
      .work(A, s2, {device_write(m1)})
      .ends();
  EXPECT_FALSE(polls(ordered));
  kernel.work(A, s1, {argument(m1)}).work(A, s2, {argument(m1)}).ends();
  EXPECT_FALSE(polls(kernel));
  copy.work(A, s1, {device_read(m1)}).work(A, s2, {device_write(m1)}).ends();
  EXPECT_FALSE(polls(copy));
  Access batch = argument(m1);
  batch.range.end = batch.range.begin + (1 << 20);
  large.work(A, s1, {batch}).work(A, s2, {device(m1, 0, 4097, true)}).ends();
  EXPECT_FALSE(polls(large));
}

// s0's result, then s0 lets go what waits in s1: a wait for s1 covers both.
TEST(Judge, WorkThatOtherWorkLetsGoComesBehindIt) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).work(A, s0, {device_write(m1)}).gate(A, s1, {device_read(m1)});
  watching_sync(t, A, {s1}, 0, 0).touch(A, 0).ends();
  EXPECT_NE(reasons(t)[0], 0u);
  Timeline later;  // the writer is given later
  later.work(A, s0, {host_write(m0)}).gate(A, s1, {device_read(m1)}).work(A, s0, {device_write(m1)});
  watching_sync(later, A, {s1}, 0, 0).touch(A, 0).ends();
  EXPECT_NE(reasons(later)[0], 0u);
  Timeline other;  // it writes something else
  other.work(A, s0, {host_write(m0)})
      .work(A, s0, {device_write(MemoryNumber{7})})
      .gate(A, s1, {device_read(m1)});
  watching_sync(other, A, {s1}, 0, 0).touch(A, 0).ends();
  EXPECT_EQ(reasons(other)[0], 0u);
}

// A waits twice, and B uses the result behind the second hand-over. Behind the first one it could have, had it been
// later.
TEST(Judge, AWaitBeforeAnEarlierHandOverIsNeededByWhomTheLaterOneLetsGo) {
  const auto twice = [](bool between) {
    Timeline t;
    t.sleep(B).work(A, s0, {host_write(m0)});
    watching_sync(t, A, {s0}, 0, 0);
    if (between) t.release(A, 1);
    t.sync(A, {s0}, 1).release(A, 0).acquire(B, 0, true).touch(B, 0).ends();
    return reasons(t);
  };
  const Reasons handed = twice(true);
  EXPECT_NE(handed[0], 0u);
  EXPECT_EQ(handed[1], 0u);
  const Reasons at_once = twice(false);
  EXPECT_EQ((at_once[0] != 0) + (at_once[1] != 0), 1);
}

// B goes on because of the first release. That A had released it again by then, behind its second wait, is chance.
TEST(Judge, AnAcquireFollowsTheReleaseOfItsNumber) {
  const auto acquires = [](uint32_t sequence) {
    Timeline t;
    t.sleep(B).release(C, 1).work(A, s0, {host_write(m0)});
    watching_sync(t, A, {s0}, 0, 0).release(A, 0).acquire(A, 1, true);
    t.sync(A, {s0}, 1).release(A, 0).thread_ends(A).thread_ends(C);
    t.acquire(B, 0, true, sequence).touch(B, 0).ends();
    return reasons(t);
  };
  const Reasons first = acquires(1), second = acquires(2);
  EXPECT_NE(first[0], 0u);
  EXPECT_EQ(first[1], 0u);
  EXPECT_EQ(second[0], 0u);
  EXPECT_NE(second[1], 0u);
}

TEST(Judge, TwoWaitsInARowOfTwoThreadsAreBothNeeded) {
  // s0's work -> A's wait -> work in s1 -> B's wait -> work in s2 that reads what s0 wrote.
  Timeline t;
  t.work(A, s0, {device_write(m0)}).sync(A, {s0}, 0).work(A, s1, {device_write(m1)});
  t.sync(B, {s1}, 1).work(B, s2, {device_read(m0)}).ends();
  EXPECT_EQ(reasons(t), Reasons({kOrder | kOtherThread, kOrder | kOtherThread}));
}

TEST(Judge, AForcedHandOverKeepsTheWaitBeforeIt) {
  Timeline t;
  t.sleep(B).work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).release(A, 0).sync(A, {s0}, 1);
  t.thread_ends(A).acquire(B, 0, true).touch(B, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({kCpuAccess | kOtherThread, 0}));
}

TEST(Judge, ALockTakenByChanceNeedsTheFirstWaitOfEachThread) {
  // B's own wait came after the hand-over by chance; each thread's first is needed, and A's second is not.
  Timeline t;
  t.thread_ends(C).work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).sync(A, {s0}, 1).release(A, 0);
  t.acquire(B, 0, false).touch(B, 0).ends();
  const Reasons all = reasons(t);
  EXPECT_NE(all[0] & kOtherThread, 0u);
  EXPECT_EQ(all[1], 0u);
}

TEST(Judge, ThreadsThatTalkOutOfSightNeedTheFirstWait) {
  Timeline t;
  t.thread_ends(A).work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).sync(A, {s0}, 1).touch(B, 0).ends();
  const Reasons all = reasons(t);
  EXPECT_NE(all[0] & kCpuAccess, 0u);
  EXPECT_NE(all[0] & kOtherThread, 0u);
}

TEST(Judge, ATouchSaysNothingAboutOtherThreads) {
  // B is awake while the range stands open behind A's touch: A's first wait may have told it.
  Timeline t;
  t.release(B, 5).work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).sync(A, {s0}, 1).touch(A, 0).ends();
  const Reasons all = reasons(t);
  EXPECT_EQ(all[0], kCpuAccess | kExposed | kOtherThread);
  EXPECT_EQ(all[1], 0u);
}

TEST(Judge, AThreadAsleepTouchesNothing) {
  Timeline t;
  t.sleep(B).work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).sync(A, {s0}, 1).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({0, kCpuAccess}));
}

TEST(Judge, AThreadThatWakesWhileTheRangeIsOpenMayTouchIt) {
  Timeline t;
  t.sleep(B).work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).sync(A, {s0}, 1).touch(A, 0).release(B, 3).ends();
  EXPECT_EQ(reasons(t), Reasons({kCpuAccess | kExposed | kOtherThread, 0}));
  Timeline closed;
  closed.sleep(B).work(A, s0, {host_write(m0)});
  watching_sync(closed, A, {s0}, 0, 0).sync(A, {s0}, 1).touch(A, 0).watch(1, m0).release(B, 3).ends();
  EXPECT_EQ(reasons(closed), Reasons({0, kCpuAccess}));
}

// B is in a call while A's touch leaves the range open. When the call ends, the range is watched again, or
// not.
TEST(Judge, AThreadInsideACallTouchesNothingUntilTheCallEnds) {
  Timeline closed;
  closed.begin(B).work(A, s0, {host_write(m0)});
  watching_sync(closed, A, {s0}, 0, 0).sync(A, {s0}, 1).touch(A, 0).watch(1, m0).end(B).ends();
  EXPECT_EQ(reasons(closed), Reasons({0, kCpuAccess}));
  Timeline open;
  open.begin(B).work(A, s0, {host_write(m0)});
  watching_sync(open, A, {s0}, 0, 0).sync(A, {s0}, 1).touch(A, 0).end(B).watch(1, m0).ends();
  EXPECT_EQ(reasons(open), Reasons({kCpuAccess | kExposed | kOtherThread, 0}));
}

// The work in s0 writes m0; A waits for it, and then the work in s1 writes m0 anew. B waits for s1 and uses
// m0. A's wait keeps the first work before the second, and B's wait keeps the second before the use: neither
// is needed for more than that.
Timeline replaced(const Access& write) {
  Timeline t;
  t.watch(0, m0).watch(1, m0).work(A, s0, {write}).sync(A, {s0}, 0).work(A, s1, {write}).sync(B, {s1}, 1);
  return t;
}

// A second watch goes on, so that the touch leaves nothing open.
TEST(Judge, WhatWasReplacedIsBeforeATouchThatComesAfterItsReplacement) {
  Timeline t = replaced(host_write(m0));
  t.touch(B, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({kOrder, kCpuAccess}));
}

TEST(Judge, WhatWasReplacedIsBeforeWorkThatComesAfterItsReplacement) {
  Timeline t = replaced(device_write(m0));
  t.work(B, s2, {device_read(m0)}).ends();
  EXPECT_EQ(reasons(t), Reasons({kOrder, kOrder}));
}

// A download that somebody used, or may have, is overwritten by one that nobody uses, and the memory is
// released behind a wait for both. The second copy can go, but not the first: the wait stays. Whether the
// judge remembers the first copy by then does not matter.
TEST(Judge, AUsedDownloadBehindAnUnusedOneKeepsItsWaitAtTheRelease) {
  for (const bool used : {true, false}) {
    Timeline t;
    t.watch(0, m0).work(A, s0, {host_write(m0)});
    if (used) t.touch(A, 0).watch(1, m0);
    t.work(A, s0, {host_write(m0)});
    for (int i = 0; i < 20; ++i) t.work(A, s0, {device_write(m1)});
    t.sync(A, {s0}, 0).releases(A, m0).ends();
    for (const size_t forgets_after : {size_t{1024}, size_t{0}}) {
      Judge judge(forgets_after);
      t.replay(judge);
      judge.finish();
      EXPECT_EQ(judge.verdict(0).reasons, used ? kCpuAccess : 0u) << forgets_after;
    }
  }
}

TEST(Judge, WhatIsNotWatchedCountsAsNeeded) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).sync(A, {s0}, 0).sync(A, {s0}, 1).ends();
  EXPECT_EQ(reasons(t), Reasons({kExposed, 0}));
  Timeline refused;
  refused.work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).unwatched(m0, kGuardRefused).end(A).ends();
  EXPECT_EQ(reasons(refused), Reasons({kGuardRefused}));
  Timeline blind;
  blind.blind(A, s0, kHostFunction).sync(A, {s0}, 0).sync(A, {s0}, 1).ends();
  EXPECT_EQ(reasons(blind), Reasons({kHostFunction, 0}));
}

TEST(Judge, AWatchThatIsLostLeavesTheRangeOpen) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).unwatch(0, true).ends();
  EXPECT_EQ(reasons(t), Reasons({kExposed}));
  Timeline lowered;
  lowered.work(A, s0, {host_write(m0)});
  watching_sync(lowered, A, {s0}, 0, 0).unwatch(0, false).ends();
  EXPECT_EQ(reasons(lowered), Reasons({0}));
}

TEST(Judge, SeveralWatchesCanCoverOneAccess) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  t.begin(A).sync(A, {s0}, 0).watch(0, m0, {0, 4}).watch(1, m0, {4, 8}).end(A).ends();
  EXPECT_EQ(reasons(t), Reasons({0}));
}

TEST(Judge, AReadOnlyWatchSeesNoReading) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0, m0, true).ends();
  EXPECT_EQ(reasons(t), Reasons({kExposed}));
}

TEST(Judge, ReleasesAreUsesUnlessTheyCanBeDeferred) {
  Timeline t;
  t.work(A, s0, {device_write(m0)}).sync(A, {s0}, 0).releases(A, m0).ends();
  EXPECT_EQ(reasons(t), Reasons({kCpuAccess}));
  Timeline deferred;
  deferred.work(A, s0, {device_write(m0)}).sync(A, {s0}, 0).releases(A, m0, true).ends();
  EXPECT_EQ(reasons(deferred), Reasons({0}));
}

TEST(Judge, WorkThatTheCpuLetsGoAfterAWaitNeedsTheWait) {
  // The kernel in s1 polls a flag. It was given before the wait, which is for s0, and runs on after it.
  Timeline t;
  t.work(A, s0, {device_write(m0)}).gate(A, s1, {device_read(m0)}).sync(A, {s0}, 0).sync(A, {s0}, 1).ends();
  EXPECT_EQ(reasons(t), Reasons({kLetsGo, 0}));
  Timeline no_gate;
  no_gate.work(A, s0, {device_write(m0)}).work(A, s1, {device_read(m0)}).sync(A, {s0}, 0).ends();
  EXPECT_EQ(reasons(no_gate), Reasons({0}));
}

TEST(Judge, WorkBehindAGateIsLetGoWithIt) {
  Timeline t;
  t.work(A, s0, {device_write(m0)}).gate(A, s1).work(A, s1, {device_read(m0)}).sync(A, {s0}, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({kLetsGo}));
  Timeline done;
  done.gate(A, s1).sync(A, {s1}, 0).work(A, s0, {device_write(m0)}).work(A, s1, {device_read(m0)});
  done.sync(A, {s0}, 1).ends();
  EXPECT_EQ(reasons(done), Reasons({0, 0}));
}

TEST(Judge, AWaitThatMayCoverTheWorkIsNeededWhereNoneDoesForSure) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).begin(A).may_sync(A, {s0}, 0).watch(0, m0).end(A);
  t.may_sync_everything(A, 1).touch(A, 0).ends();
  const Reasons all = reasons(t);
  EXPECT_NE(all[0] & kCpuAccess, 0u);
  EXPECT_EQ(all[1], 0u);
}

TEST(Judge, WorkGivenByAnotherThreadWhileTheCallRanIsOnlyPerhapsCovered) {
  Timeline t;
  t.begin(A).work(B, s0, {host_write(m0)}).sync(A, {s0}, 0).watch(0, m0).end(A);
  t.sync(A, {s0}, 1).thread_ends(B).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({0, kCpuAccess}));  // the one that covers it for certain orders it
}

TEST(Judge, AKilledProgramsWaitsAreNotJudged) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).sync(A, {s1}, 1);
  EXPECT_EQ(reasons(t), Reasons({kUnresolved, 0}));
}

TEST(Judge, DefaultStreamRulesOrderWork) {
  Timeline t;
  t.work(A, s1, {device_write(m0)}).sync(A, {s1}, 0);
  Event work;
  work.kind = EventKind::work;
  work.thread = A;
  work.stream = s0;
  const std::vector<Access> reads{device_read(m0)};
  const std::vector<StreamNumber> after{s1};
  work.accesses = reads;
  work.streams = after;
  t.begin(A).add(work).end(A).ends();
  EXPECT_EQ(reasons(t), Reasons({0}));
}

TEST(Judge, UnknownOperandsConflictWithAll) {
  Timeline t;
  Access any;
  any.writes = any.on_host = true;
  t.work(A, s0, {device_write(m0)}).sync(A, {s0}, 0).work(A, s1, {any}).ends();
  EXPECT_EQ(reasons(t), Reasons({kOrder}));
}

TEST(Judge, SaysWhenAFindingRestsOnKernelsArguments) {
  Access argument = device_write(m0);
  argument.argument = true;
  Timeline t;
  t.work(A, s0, {argument}).sync(A, {s0}, 0).work(A, s1, {device_read(m1)});
  t.work(A, s0, {device_write(m0)}).sync(A, {s0}, 1).work(A, s1, {device_read(m1)}).ends();
  const std::vector<Verdict> verdicts = judged(t);
  EXPECT_EQ(verdicts[0].reasons, 0u);
  EXPECT_EQ(verdicts[0].conditions, kConditionArguments);
  EXPECT_EQ(verdicts[1].conditions, 0);
}

// What is remembered grows with what is open: 20,000 rounds leave no more than some hundreds of entries.
TEST(Judge, ForgetsWhatNobodyCanAskFor) {
  Timeline rounds;
  for (uint32_t i = 0; i < 20'000; ++i) {
    rounds.work(A, s0, {device_write(m0), host_write(m1)}).record(A, s0, MarkNumber{i});
    rounds.sync(A, {s0}, i % 5).mark_ends(MarkNumber{i});
  }
  Judge judge(256);
  rounds.replay(judge);
  EXPECT_LT(judge.remembered(), 2'000u);
  Timeline streams;
  for (uint32_t i = 0; i < 20'000; ++i) {
    const StreamNumber stream{i};
    streams.work(A, stream, {device_write(m0)}).sync(A, {stream}, 0).stream_ends(stream);
  }
  Judge other(256);
  streams.replay(other);
  EXPECT_LT(other.remembered(), 2'000u);
}

// Work of a stream that has ended may still be covered by a wait whose scope is not known.
TEST(Judge, AnEndedStreamsWorkIsPartOfEverything) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).stream_ends(s0);
  t.begin(A).may_sync_everything(A, 0).watch(0, m0).end(A).touch(A, 0).ends();
  EXPECT_NE(reasons(t)[0] & kCpuAccess, 0u);
}

// In each thread the first wait that covered the work before the access; the watch goes on.
TEST(Judge, AnAccessByAnotherProcessNeedsTheFirstWaits) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).sync(A, {s0}, 1).sync(B, {s0}, 2).sync(B, {s0}, 3);
  t.peer(m0, false, {4, 6}).sync(C, {s0}, 4).ends();
  const uint32_t needed = kSharedMemory | kOtherThread;
  EXPECT_EQ(reasons(t), Reasons({needed, 0, needed, 0, 0}));
}

TEST(Judge, AnAccessByAnotherProcessElsewhereNeedsNothing) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  watching_sync(t, A, {s0}, 0, 0).peer(m0, false, {8, 16}).peer(m1).touch(A, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({kCpuAccess}));
}

// What was not waited for by then was not there yet.
TEST(Judge, AnAccessByAnotherProcessBeforeTheWaitNeedsNothing) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).peer(m0);
  watching_sync(t, A, {s0}, 0, 0).ends();
  EXPECT_EQ(reasons(t), Reasons({0}));
}

TEST(Judge, PassesOverEventsThatNameNothing) {
  Timeline t;
  for (int kind = 0; kind <= static_cast<int>(EventKind::stream_ends); ++kind) {
    Event event;
    event.kind = static_cast<EventKind>(kind);
    t.add(event);
    event.thread = A;
    t.add(event);
    event.thread = ThreadNumber{0x7fffffff};
    t.add(event);
  }
  EXPECT_EQ(judged(t).size(), 1u);  // A's `covers`, of nothing
}

}  // namespace
}  // namespace diogenes::necessity::testing
