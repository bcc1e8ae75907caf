// One instance of a wait on a small range, as the runs of stage 3 saw it.
#include "analysis/parts.h"

#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"
#include "ffm/plan.h"
#include "trace/session.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

constexpr uint32_t kRefused1 = not_this_run(1) | in_parts(1), kRefused2 = not_this_run(2) | in_parts(2);

class Parts : public ::testing::Test {
 protected:
  // The next run, in which the wait had these reasons. Nothing: it did not happen.
  void run(std::optional<uint32_t> reasons) {
    auto trace = timeline().sync(lasting(1)).from(0x200).unnecessary();
    if (reasons) trace.sync(lasting(2)).from(0x100).needed(*reasons);
    ProcessOptions options;
    options.stage = Stage::memory_tracing;
    write_process(folder_.path() / run_name(Stage::memory_tracing, ++runs_), trace, options);
  }
  uint32_t reasons() {
    SiteTable sites;
    auto joined = load_memory_tracing(folder_.path(), sites);
    EXPECT_TRUE(joined.ok());
    return joined->processes.at(0).threads.at(0).evidence.at(1).reasons;
  }
  size_t sites_that_hang() {
    auto sites = sites_to_watch(folder_.path());
    EXPECT_TRUE(sites.ok());
    return sites->size();
  }

 private:
  TemporaryFolder folder_;
  int runs_ = 0;
};

TEST_F(Parts, UnusedInBothOfTwoParts) {
  run(in_parts(2));
  EXPECT_EQ(sites_that_hang(), 1u);
  EXPECT_EQ(reasons(), kSmallRange);  // as long as one is not known
  run(in_parts(2));
  EXPECT_EQ(sites_that_hang(), 0u);
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, ThreePartsTakeThreeRuns) {
  run(in_parts(3));
  run(in_parts(3));
  EXPECT_EQ(sites_that_hang(), 1u);
  run(in_parts(3));
  EXPECT_EQ(sites_that_hang(), 0u);
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, UsedInTheSecondOne) {
  run(in_parts(2));
  run(in_parts(2) | kCpuAccess);
  EXPECT_EQ(reasons(), kCpuAccess | kSmallRange);  // needed, and when first is not known: it is not moved
}

TEST_F(Parts, UsedInTheFirstOneNeedsNoMoreRuns) {
  run(in_parts(2) | kCpuAccess);
  EXPECT_EQ(sites_that_hang(), 0u);
  EXPECT_EQ(reasons(), kCpuAccess | kSmallRange);
}

TEST_F(Parts, NeededAnywayNeedsNoMoreRuns) {
  run(in_parts(2) | kOrder);
  EXPECT_EQ(sites_that_hang(), 0u);
  EXPECT_EQ(reasons(), kOrder | kSmallRange);
}

TEST_F(Parts, WhatWasRefusedIsWatchedInAnotherRun) {
  run(kRefused1);
  EXPECT_EQ(sites_that_hang(), 1u);
  run(uint32_t{0});
  EXPECT_EQ(sites_that_hang(), 0u);
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, OfOnePartItIsMovedAsEver) {
  run(kRefused1);
  run(kCpuAccess);
  EXPECT_EQ(reasons(), kCpuAccess);
}

// Part 1 in the second run, part 0 in the third.
TEST_F(Parts, RefusedInTheFirstRunThePartComesRoundAgain) {
  run(kRefused2);
  run(in_parts(2));
  EXPECT_EQ(sites_that_hang(), 1u);
  run(in_parts(2));
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, RefusedInAllRuns) {
  for (int i = 0; i < kWatchRuns; ++i) run(kRefused2);
  EXPECT_EQ(reasons(), kSmallRange);
}

// A range of one part that was refused, beside one of two: each kind for itself.
TEST_F(Parts, TwoRangesOfOneWait) {
  run(kRefused1 | in_parts(2));
  run(kRefused1 | in_parts(2));
  EXPECT_EQ(sites_that_hang(), 1u);
  run(kRefused2);
  EXPECT_EQ(sites_that_hang(), 0u);
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, ARunWithoutTheWaitSaysNothing) {
  run(in_parts(2));
  run(std::nullopt);
  EXPECT_EQ(reasons(), kSmallRange);
  EXPECT_EQ(sites_that_hang(), 1u);
}

TEST_F(Parts, WhatNeedsNoFurtherRunIsLeftAsItIs) {
  run(kHostFunction);
  EXPECT_EQ(sites_that_hang(), 0u);
  EXPECT_EQ(reasons(), kHostFunction);
}

TEST_F(Parts, OrderIsTheFirstRunsBusiness) {
  run(in_parts(2));
  run(in_parts(2) | kOrder);  // it saw less of what is settled
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, AUseThatTheFirstRunDidNotSee) {
  run(uint32_t{0});
  run(kCpuAccess);
  EXPECT_EQ(reasons(), kCpuAccess);
}

}  // namespace
}  // namespace diogenes
