#include "analysis/join.h"

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

TEST(Join, VerdictOfACallThatDidNotWaitThereDoesNotCount) {
  auto trace = timeline().sync(lasting(1)).from(0x100).unnecessary().work(5);
  auto later = timeline().sync(lasting(0)).from(0x100).unnecessary().without_wait().work(5);
  EXPECT_TRUE(Analysed(trace, {}, {}, &later).problems.found.empty());
}

}  // namespace
}  // namespace diogenes
