#include "analysis/runs/join.h"

#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

const Operation& operation(const Analysed& analysed, size_t thread, size_t index) {
  return analysed.tracing.processes.at(0).threads.at(thread).operations.at(index);
}

TEST(Join, BySiteAndOccurrenceNotBySequence) {
  // Launches are recorded in stage 3 only, so the sequences differ.
  auto trace = timeline().launch(1).sync(lasting(1)).from(0x100).unnecessary().launch(1).launch(1);
  trace.sync(lasting(2))
      .from(0x200)
      .first_use(after(30))
      .launch(1)
      .sync(lasting(3))
      .from(0x100)
      .needed(kOrder);
  Analysed analysed(trace);
  EXPECT_EQ(operation(analysed, 0, 0).reasons, 0u);
  EXPECT_EQ(operation(analysed, 0, 1).reasons, kCpuAccess);
  EXPECT_EQ(operation(analysed, 0, 1).after.count, 30'000);
  EXPECT_EQ(operation(analysed, 0, 2).reasons, kOrder);
  EXPECT_EQ(analysed.join.matched, 3u);
  EXPECT_EQ(analysed.join.unmatched, 0u);
  EXPECT_EQ(analysed.join.extra, 0u);
}

TEST(Join, ThreadsArePairedBySiteNotByFile) {
  // In the later run the worker's file has another number, because a thread without waits came first.
  auto trace = timeline().sync(lasting(1)).from(0x100).needed(kOrder);
  trace.on_thread(1).sync(lasting(1)).from(0x200).unnecessary();
  auto later = timeline().sync(lasting(1)).from(0x100).needed(kOrder);
  later.on_thread(4).sync(lasting(1)).from(0x200).unnecessary();
  Analysed analysed(trace, {}, {}, &later);
  EXPECT_EQ(operation(analysed, 0, 0).reasons, kOrder);
  EXPECT_EQ(operation(analysed, 1, 0).reasons, 0u);
}

// Four workers of a pool run the same code. Which of them calls the driver first, and so has the first file, is a race.
TEST(Join, ThreadsWithTheSameSitesArePairedAsTheyWereMade) {
  auto trace = timeline().sync(lasting(1)).from(0x100).needed(kOrder);
  trace.on_thread(1).sync(lasting(1)).from(0x200).needed(kOrder);
  trace.on_thread(2).sync(lasting(1)).from(0x200).unnecessary();
  auto later = timeline().sync(lasting(1)).from(0x100).needed(kOrder);
  later.on_thread(1).made_as(2).sync(lasting(1)).from(0x200).unnecessary();
  later.on_thread(2).made_as(1).sync(lasting(1)).from(0x200).needed(kOrder);
  Analysed analysed(trace, {}, {}, &later);
  EXPECT_EQ(operation(analysed, 1, 0).reasons, kOrder);
  EXPECT_EQ(operation(analysed, 2, 0).reasons, 0u);
}

// A profile's run tells GPU times of itself.
TEST(Join, ARunIsItsOwnCounterpart) {
  auto trace = timeline().sync(lasting(1)).from(0x100).unnecessary().work(5);
  trace.sync(lasting(1)).from(0x200).unnecessary().sync(lasting(1)).from(0x100).unnecessary();
  trace.on_thread(1).sync(lasting(1)).from(0x100).unnecessary();
  Analysed analysed(trace);
  size_t pairs = 0;
  const JoinResult joined =
      join_operations(analysed.tracing, analysed.tracing, analysed.sites,
                      [&](Operation* ours, const Process&, const Thread& thread, uint32_t i) {
                        EXPECT_EQ(ours, &thread.operations[i]);
                        ++pairs;
                      });
  EXPECT_EQ(pairs, 4u);
  EXPECT_EQ(joined.matched, 4u);
  EXPECT_EQ(joined.unmatched, 0u);
}

TEST(Join, WhatDoesNotMatchIsNeededAndCounted) {
  auto trace = timeline();
  for (int i = 0; i < 4; ++i) trace.sync(lasting(1)).from(0x100).unnecessary().work(5);
  auto later = timeline();
  for (int i = 0; i < 3; ++i) later.sync(lasting(1)).from(0x100).unnecessary().work(5);
  Analysed fewer(trace, {}, {}, &later);
  EXPECT_EQ(fewer.join.unmatched, 1u);
  EXPECT_EQ(operation(fewer, 0, 3).reasons, kUnresolved);
  Analysed more(later, {}, {}, &trace);
  EXPECT_EQ(more.join.extra, 1u);
}

TEST(Join, NeededInstancesWithoutACounterpartSpeakAgainstTheSite) {
  auto trace = timeline().sync(lasting(1)).from(0x100).unnecessary().work(5);
  auto later =
      timeline().sync(lasting(1)).from(0x100).unnecessary().sync(lasting(1)).from(0x100).needed(kCpuAccess);
  EXPECT_TRUE(Analysed(trace, {}, {}, &later).problems.found.empty());
}

// On a driver that returns at once where all is done, how fast the GPU was decides whether a call waited.
TEST(Join, VerdictOfASynchronizationThatFoundAllDoneThereCounts) {
  auto trace = timeline().sync(lasting(1)).from(0x100).unnecessary().work(5);
  auto later = timeline().sync(lasting(0)).from(0x100).unnecessary().without_wait().work(5);
  Analysed needless(trace, {}, {}, &later);
  ASSERT_EQ(needless.problems.found.size(), 1u);
  EXPECT_EQ(needless.problems.found[0].count, 1u);
  auto used = timeline().sync(lasting(0)).from(0x100).needed(kCpuAccess).without_wait().work(5);
  EXPECT_TRUE(Analysed(trace, {}, {}, &used).problems.found.empty());
}

TEST(Join, CallThatDidNotWaitThereAndHasNoVerdictIsNeeded) {
  auto trace = timeline().sync(lasting(1)).from(0x100).unnecessary().work(5);
  auto later = timeline().sync(lasting(0)).from(0x100).without_wait().work(5);
  EXPECT_TRUE(Analysed(trace, {}, {}, &later).problems.found.empty());
}

// Two waits of one site are needless; between them a third call found all done, and its data is read.
TEST(Join, NeededCallsThatFoundAllDoneSpeakAgainstTheSite) {
  auto with_third = [](auto third) {
    auto trace = timeline().launch(1).sync(lasting(10)).from(0x100).unnecessary().work(50);
    trace.sync(lasting(0)).from(0x100).without_wait();
    third(trace);
    trace.work(50).launch(1).sync(lasting(10)).from(0x100).unnecessary().work(50);
    return trace;
  };
  auto find = [](const Analysed& analysed) -> const Problem* {
    return analysed.problems.found.size() == 1 ? &analysed.problems.found[0] : nullptr;
  };
  Analysed needed(with_third([](auto& trace) { trace.first_use(after(1)); }));
  ASSERT_NE(find(needed), nullptr);
  EXPECT_EQ(find(needed)->count, 2u);
  EXPECT_EQ(find(needed)->instances, 3u);
  EXPECT_EQ(find(needed)->used, 1u);
  Analysed needless(with_third([](auto& trace) { trace.unnecessary(); }));
  ASSERT_NE(find(needless), nullptr);
  EXPECT_EQ(find(needless)->instances, 3u);
  EXPECT_EQ(find(needless)->count, 3u) << "who removes the call removes that one, too";
}

// All are used late, those too that found all done: the call can be moved. One that is needed for another
// reason is in the way.
TEST(Join, CallsThatFoundAllDoneAreMovedWithTheOthers) {
  for (uint32_t reason : {kCpuAccess, kOrder}) {
    auto trace = timeline().launch(1).sync(lasting(30)).from(0x100).first_use(after(20)).work(50);
    trace.sync(lasting(0)).from(0x100).without_wait().first_use(after(20), reason).work(50);
    Analysed analysed(trace);
    EXPECT_EQ(analysed.problems.found.size(), reason == kCpuAccess ? 1u : 0u);
  }
}

}  // namespace
}  // namespace diogenes
