// The model `paper` on the hand-worked cases of the paper's Figure 4 and of the study of models: the figures
// of the column 'Figure 5 gives', with the benefit of a moved wait capped by the wait. Units: microseconds.
#include "analysis/benefit/benefit.h"

#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

constexpr auto kUsedAtOnce = after(0);

TEST(PaperModel, Case1LaunchesBehindTheWaitTakeUpAllOfIt) {
  // W8 L(18;1) W8 S(10) W10 L(8;1) S(8) W4: min(10, 10 + 1).
  auto trace = timeline().work(8).launch(1).work(8).sync(lasting(10)).unnecessary();
  trace.work(10).launch(1).sync(lasting(8)).first_use(kUsedAtOnce).work(4);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 10);
}

TEST(PaperModel, Case2TheNextWaitGrows) {
  // W8 L(18;1) W8 S(10) W1 L(7;1) S(7) W4: min(10, 1 + 1).
  auto trace = timeline().work(8).launch(1).work(8).sync(lasting(10)).unnecessary();
  trace.work(1).launch(1).sync(lasting(7)).first_use(kUsedAtOnce).work(4);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 2);
}

TEST(PaperModel, Case3TwoThatPayOnlyTogether) {
  // L(100;0) A: S(100) W2 B: S(0) W100 L(10;0) S(10): A 2, B 0, both 2 + (98 carried to B).
  auto trace = timeline().launch().sync(lasting(100)).unnecessary().work(2).sync(lasting(0)).unnecessary();
  trace.work(100).launch().sync(lasting(10)).first_use(kUsedAtOnce);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 2u);
  EXPECT_DOUBLE_EQ(us(analysed.problems.found[0].benefit), 2);
  EXPECT_DOUBLE_EQ(us(analysed.problems.found[1].benefit), 0);
  EXPECT_DOUBLE_EQ(analysed.together_us(), 100);
}

TEST(PaperModel, Case4MovedWaitIsCapped) {
  // L(30;0) S(30) W100 use W10: 100 as printed, capped by the wait.
  auto trace = timeline().launch().sync(lasting(30)).first_use(after(100)).work(100).work(10);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 30);
}

TEST(PaperModel, Case5MovedWaitWithLaunchesBeforeTheUse) {
  // L(50;0) S(50) L(100;0) W40 use W10 S(50): min(50, 40).
  auto trace = timeline().launch().sync(lasting(50)).first_use(after(40)).launch().work(50);
  trace.sync(lasting(50)).first_use(kUsedAtOnce);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 40);
}

TEST(PaperModel, Case6FreeKeptAsACall) {
  // L(50;0) free(waits 50, own 20) W30 L(10;0) S(10); the memory is released all the same: min(50, 20 + 30).
  auto trace = timeline().allocate(0x1000, 64).launch().release(0x1000, lasting(50), 20).unnecessary();
  trace.work(30).launch().sync(lasting(10)).first_use(kUsedAtOnce);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  EXPECT_FALSE(analysed.problems.found[0].call_removed);
  EXPECT_DOUBLE_EQ(us(analysed.problems.found[0].benefit), 50);
}

TEST(PaperModel, Case6FreeGoneBecauseTheMemoryIsUsedAgain) {
  // The same, and as many bytes are allocated again later: the call goes, 20 + min(50, 30).
  auto trace = timeline().allocate(0x1000, 64).launch().release(0x1000, lasting(50), 20).unnecessary();
  trace.work(30).allocate(0x2000, 64).launch().sync(lasting(10)).first_use(kUsedAtOnce);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  EXPECT_TRUE(analysed.problems.found[0].call_removed);
  EXPECT_DOUBLE_EQ(us(analysed.problems.found[0].benefit), 50);
}

TEST(PaperModel, Case7AsynchronousDuplicateIsWorthItsCall) {
  // copy(30;1) copy(30;1) L(10;1) S(68): the second copy's own 1.
  auto trace = timeline().copy("cuMemcpyHtoDAsync_v2", 64, lasting(0), 1);
  trace.copy("cuMemcpyHtoDAsync_v2", 64, lasting(0), 1).repeats(0);
  trace.launch(1).sync(lasting(68)).first_use(kUsedAtOnce);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 1);
}

TEST(PaperModel, Case8FullQueueIsTakenForIdleTime) {
  // Queue of 2: 4 x L(10;0) S(20) 4 x L(10;0) S(20); the launches wait 20 for the queue. Figure 5 says 20
  // (truth: 0).
  auto trace = timeline().launch().launch().launch(10).launch(10).sync(lasting(20)).unnecessary();
  trace.launch().launch().launch(10).launch(10).sync(lasting(20)).first_use(kUsedAtOnce);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 20);
}

TEST(PaperModel, ExitNodeWaitsNothing) {
  // Nothing waits after it: what the CPU still does can overlap, and no more.
  auto trace = timeline().launch().sync(lasting(10)).unnecessary().work(7);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 7);
}

TEST(PaperModel, ThreadsDoNotLendEachOtherTime) {
  auto trace = timeline().sync(lasting(10)).unnecessary().work(3).sync(lasting(1)).first_use(kUsedAtOnce);
  trace.on_thread(1).work(5).sync(lasting(10)).needed(kOrder).work(100).sync(lasting(1)).needed(kOrder);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 3);
}

TEST(PaperModel, CostOfTracingIsTakenOut) {
  // 10 us lie between the waits, of which recording the first took 4.
  auto trace = timeline().sync(lasting(50)).unnecessary().work(10).sync(lasting(1)).first_use(kUsedAtOnce);
  EXPECT_DOUBLE_EQ(us(Analysed(trace, {.hook_cost_ns = 4'000}).problems.found.at(0).benefit), 6);
}

TEST(PaperModel, WhatRecordingOneCallTookIsTakenOutWhereItLies) {
  // 10 us lie between the waits, of which recording took 3 behind the first and 5 before the second; the
  // usual cost is that of other calls.
  auto trace = timeline().sync(lasting(50)).unnecessary().recorded(0, 3).work(10);
  trace.sync(lasting(1)).first_use(kUsedAtOnce).recorded(5, 0);
  EXPECT_DOUBLE_EQ(us(Analysed(trace, {.hook_cost_ns = 4'000}).problems.found.at(0).benefit), 2);
}

TEST(PaperModel, WhatIsRemovedCannotOverlap) {
  // Between the two waits lie 20 of work and an asynchronous duplicate of 5. Together: 5 + min(50, 20), not 5
  // + 25.
  auto trace =
      timeline().copy("cuMemcpyHtoDAsync_v2", 64, lasting(0), 5).sync(lasting(50)).unnecessary().work(20);
  trace.copy("cuMemcpyHtoDAsync_v2", 64, lasting(0), 5).repeats(0).sync(lasting(1)).first_use(kUsedAtOnce);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 2u);
  EXPECT_DOUBLE_EQ(us(analysed.problems.found[0].benefit), 25);  // alone, the copy is there to overlap with
  EXPECT_DOUBLE_EQ(us(analysed.problems.found[1].benefit), 5);
  EXPECT_DOUBLE_EQ(analysed.together_us(), 25);
}

TEST(PaperModel, SynchronousDuplicateCoversItsWait) {
  // A copy that waits 40 and costs 6 itself, then 15 of work: 6 + min(40, 15).
  auto trace = timeline().copy("cuMemcpyHtoD_v2", 64, lasting(0), 6).needed(kOrder);
  trace.copy("cuMemcpyHtoD_v2", 64, lasting(40), 6).repeats(0).unnecessary();
  trace.work(15).sync(lasting(1)).first_use(kUsedAtOnce);
  EXPECT_DOUBLE_EQ(only_benefit_us(trace), 21);
}

TEST(PaperModel, CarriedSavingsReachAMovedWait) {
  // A waits 30 with 5 of work behind it; 25 go to B, which waits 10 and is first used after 20: min(10 + 25,
  // 20).
  auto trace =
      timeline().sync(lasting(30)).unnecessary().work(5).sync(lasting(10)).first_use(after(20)).work(50);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 2u);
  EXPECT_DOUBLE_EQ(analysed.together_us(), 5 + 20);
}

}  // namespace
}  // namespace diogenes
