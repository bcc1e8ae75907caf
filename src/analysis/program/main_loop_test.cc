#include "analysis/program/main_loop.h"

#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

struct LoadedLoop {
  explicit LoadedLoop(const Timeline& trace) {
    write_process(folder.path() / "2", trace, {.launches_traced = true});
    auto read = load_run(folder.path() / "2", sites, Load::operations);
    run = std::move(*read);
    loop = main_loop(run);
  }
  TemporaryFolder folder;
  SiteTable sites;
  Run run;
  std::optional<MainLoop> loop;
};

// A copy, a launch, a wait: `times` times. Before it something that takes `setup_us`.
Timeline solver(int times, double setup_us) {
  Timeline trace = timeline().call("cuMemAlloc_v2", lasting(0), setup_us).from(0x1);
  for (int i = 0; i < times; ++i)
    trace.copy("cuMemcpyHtoD_v2", 64, lasting(2), 3)
        .from(0x10)
        .launch(4)
        .from(0x20)
        .sync(lasting(30))
        .from(0x30);
  return trace;
}

TEST(MainLoop, IsTheChainThatIsRepeated) {
  const LoadedLoop loaded(solver(100, 50));
  ASSERT_TRUE(loaded.loop);
  EXPECT_EQ(loaded.loop->iterations, 100u);
  EXPECT_EQ(loaded.loop->calls, 3u);
}

TEST(MainLoop, IsTheInnermostThatHoldsTheTime) {
  // Each of 10 epochs: 20 times launch and wait, then a copy that takes little.
  Timeline trace = timeline();
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (int i = 0; i < 20; ++i) trace.launch(4).from(0x20).sync(lasting(30)).from(0x30);
    trace.copy("cuMemcpyDtoH_v2", 64, lasting(2), 3).from(0x40);
  }
  const LoadedLoop loaded(trace);
  ASSERT_TRUE(loaded.loop);
  EXPECT_EQ(loaded.loop->iterations, 200u);
  EXPECT_EQ(loaded.loop->calls, 2u);
}

TEST(MainLoop, MayHoldSmallerOnes) {
  // 10 launches, then a long wait: the launches alone are no loop that holds the time.
  Timeline trace = timeline();
  for (int step = 0; step < 50; ++step) {
    for (int i = 0; i < 10; ++i) trace.launch(2).from(0x20);
    trace.sync(lasting(500)).from(0x30);
  }
  const LoadedLoop loaded(trace);
  ASSERT_TRUE(loaded.loop);
  EXPECT_EQ(loaded.loop->iterations, 50u);
  EXPECT_EQ(loaded.loop->calls, 11u);
}

// Each of 40 steps: 2 to 5 times launch and wait, an allocation in some, and a copy. The first one loads code for a second.
Timeline training() {
  Timeline trace = timeline();
  for (int step = 0; step < 40; ++step) {
    trace.copy("cuMemcpyHtoD_v2", 64, lasting(2), 3).from(0x10);
    if (step % 7 == 0) trace.call("cuMemAlloc_v2", lasting(0), 5).from(0x11);
    for (int i = 0; i < 2 + step % 4; ++i) {
      trace.launch(4).from(0x20);
      trace.call("cuStreamSynchronize", lasting(30), step + i == 0 ? 1'000'000 : 1).from(0x30);
    }
    trace.launch(4).from(0x40).work(500);
  }
  return trace;
}

TEST(MainLoop, MayHaveIterationsThatDiffer) {
  const LoadedLoop loaded(training());
  ASSERT_TRUE(loaded.loop);
  EXPECT_EQ(loaded.loop->iterations, 40u) << "not the waits in it";
  EXPECT_NEAR(static_cast<double>(loaded.loop->calls), 9, 1);
}

TEST(MainLoop, IsNotOneOfManyShortCallsBeforeAllElse) {
  // 200 queries at the start, and then a long time of other work.
  Timeline trace = timeline();
  for (int i = 0; i < 200; ++i) {
    trace.call("cuMemGetInfo_v2", lasting(0), 2).from(0x10);
    if (i % 3 == 0) trace.launch(4).from(0x20);
  }
  trace.work(1'000'000).launch(4).from(0x50).sync(lasting(1'000)).from(0x60);
  EXPECT_FALSE(LoadedLoop(trace).loop);
}

TEST(MainLoop, IsNotThereWithoutRepetition) {
  EXPECT_FALSE(LoadedLoop(timeline()).loop);
  EXPECT_FALSE(LoadedLoop(timeline().launch(4).sync(lasting(30)).launch(4).sync(lasting(30))).loop);
  EXPECT_FALSE(LoadedLoop(solver(2, 0)).loop) << "twice is not yet a loop";
  EXPECT_FALSE(LoadedLoop(solver(100, 1'000'000)).loop) << "the time lies elsewhere";
  // Two loops of like weight.
  Timeline two = solver(50, 0);
  for (int i = 0; i < 50; ++i) two.launch(4).from(0x120).sync(lasting(30)).from(0x130);
  EXPECT_FALSE(LoadedLoop(two).loop);
}

TEST(MainLoop, IterationsMayDiffer) {
  // Each tenth one writes a result, too: 90 of 100 are alike.
  Timeline trace = timeline();
  for (int i = 0; i < 100; ++i) {
    trace.launch(4).from(0x20).sync(lasting(30)).from(0x30);
    if (i % 10 == 9) trace.copy("cuMemcpyDtoH_v2", 64, lasting(2), 3).from(0x40);
  }
  const LoadedLoop loaded(trace);
  ASSERT_TRUE(loaded.loop);
  EXPECT_EQ(loaded.loop->iterations, 100u);
  EXPECT_EQ(loaded.loop->calls, 2u);
}

// Which of the synchronizations from 0x30 (inside), 0x1 (before) and 0x2 (behind) are said to lie in the loop.
TEST(MainLoop, WhatLiesInItIsToldByTime) {
  Timeline trace = timeline().sync(lasting(500)).from(0x1).unnecessary();
  for (int i = 0; i < 100; ++i) trace.launch(4).from(0x20).sync(lasting(30)).from(0x30).unnecessary().work(5);
  trace.sync(lasting(1)).from(0x2).unnecessary();
  const Analysed analysed(trace);
  const std::optional<MainLoop> loop = main_loop(analysed.tracing);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->iterations, 100u);
  ASSERT_EQ(analysed.problems.found.size(), 3u);
  for (const Problem& problem : analysed.problems.found) {
    const size_t inside = changes_in(*loop, analysed.tracing, analysed.graph, problem.changes).size();
    EXPECT_EQ(inside, problem.instances == 100 ? 100u : 0u) << "once: before the loop, or behind it";
  }
}

}  // namespace
}  // namespace diogenes
