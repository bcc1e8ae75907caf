// One instance of a wait on small ranges, as the runs of stage 3 saw it.
#include "analysis/parts.h"

#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"
#include "ffm/plan.h"
#include "trace/session.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

constexpr uint64_t kA = 0x1000, kB = 0x2000;  // ranges

struct Part {
  uint64_t range;
  int part, parts;
  bool seen = true;
  int registers = 4;
};

class Parts : public ::testing::Test {
 protected:
  // The next run, in which the wait had these reasons, and hung on that. Nothing: it did not happen.
  void run(std::optional<uint32_t> reasons, std::vector<Part> watched = {}) {
    write(timeline().sync(lasting(1)).from(0x200).unnecessary(), reasons, watched);
  }
  // The same; the wait before it hung on this.
  void run_beside(Part other, std::optional<uint32_t> reasons) {
    auto trace = timeline().sync(lasting(1)).from(0x200).needed(kOrder);
    trace.watched(other.range, other.part, other.parts, other.seen);
    write(trace, reasons, {});
  }
  void write(testing::Timeline trace, std::optional<uint32_t> reasons, const std::vector<Part>& watched) {
    if (reasons) {
      trace.sync(lasting(2)).from(0x100).needed(*reasons);
      for (const Part& each : watched)
        trace.watched(each.range, each.part, each.parts, each.seen, each.registers);
    }
    ProcessOptions options;
    options.stage = Stage::memory_tracing;
    write_process(folder_.path() / run_name(Stage::memory_tracing, ++runs_), trace, options);
  }
  uint32_t reasons() {
    SiteTable sites;
    auto joined = load_memory_tracing_in_parts(folder_.path(), sites);
    EXPECT_TRUE(joined.ok());
    return joined->processes.at(0).threads.at(0).evidence.at(1).reasons;
  }
  // What the next run is to watch.
  std::vector<PartKey> wanted() {
    auto hanging = parts_to_watch(folder_.path());
    EXPECT_TRUE(hanging.ok());
    return hanging->parts;
  }
  const std::vector<PartKey> nothing;

 private:
  TemporaryFolder folder_;
  int runs_ = 0;
};

TEST_F(Parts, UnusedInBothOfTwoParts) {
  run(kNotWhole, {{kA, 0, 2}});
  EXPECT_EQ(wanted(), std::vector{part_key(kA, 1)});
  EXPECT_EQ(reasons(), kSmallRange);  // as long as one is not known
  run(kNotWhole, {{kA, 1, 2}});
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, ThreePartsTakeThreeRuns) {
  run(kNotWhole, {{kA, 0, 3}});
  run(kNotWhole, {{kA, 2, 3}});
  EXPECT_EQ(wanted(), std::vector{part_key(kA, 1)});
  run(kNotWhole, {{kA, 1, 3}});
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, UsedInTheSecondOne) {
  run(kNotWhole, {{kA, 0, 2}});
  run(kNotWhole | kCpuAccess, {{kA, 1, 2}});
  EXPECT_EQ(reasons(), kCpuAccess | kSmallRange);  // needed, and when first is not known: it is not moved
}

TEST_F(Parts, UsedInTheFirstOneNeedsNoMoreRuns) {
  run(kNotWhole | kCpuAccess, {{kA, 0, 2}});
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), kCpuAccess | kSmallRange);
}

TEST_F(Parts, NeededAnywayNeedsNoMoreRuns) {
  run(kNotWhole | kOrder, {{kA, 0, 2}});
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), kOrder | kSmallRange);
}

TEST_F(Parts, WhatFoundNoWatchpointsIsWatchedInAnotherRun) {
  run(kNotWhole, {{kA, 0, 1, false}});
  EXPECT_EQ(wanted(), std::vector{part_key(kA, 0)});
  run(uint32_t{0}, {{kA, 0, 1}});
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, OfOnePartItIsMovedAsEver) {
  run(kNotWhole, {{kA, 0, 1, false}});
  run(kCpuAccess, {{kA, 0, 1}});
  EXPECT_EQ(reasons(), kCpuAccess);
}

TEST_F(Parts, NotWatchedInAnyRun) {
  for (int i = 0; i < kWatchRuns; ++i) run(kNotWhole, {{kA, 0, 2, false}});
  EXPECT_EQ(wanted().size(), 1u);  // one part of a range at a time
  EXPECT_EQ(reasons(), kSmallRange);
}

// Of what one wait hangs on, a run is asked for as much as there are watchpoints for.
TEST_F(Parts, AsMuchAsFits) {
  constexpr uint64_t kC = 0x3000;
  run(kNotWhole, {{kA, 0, 1, false, 2}, {kB, 0, 1, false, 3}, {kC, 0, 1, false, 2}});
  EXPECT_EQ(wanted(), (std::vector{part_key(kA, 0), part_key(kC, 0)}));
  run(kNotWhole, {{kA, 0, 1, true, 2}, {kB, 0, 1, false, 3}, {kC, 0, 1, true, 2}});
  EXPECT_EQ(wanted(), std::vector{part_key(kB, 0)});
}

// Two ranges that never fit together: each has its run.
TEST_F(Parts, TwoRangesThatNeverFitTogether) {
  run(kNotWhole, {{kA, 0, 1}, {kB, 0, 1, false}});
  EXPECT_EQ(wanted(), std::vector{part_key(kB, 0)});
  run(kNotWhole, {{kA, 0, 1, false}, {kB, 0, 1}});
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), 0u);
}

// What no run saw is not seen because another range was, twice.
TEST_F(Parts, TheSameRangeTwiceIsNotBoth) {
  run(kNotWhole, {{kA, 0, 1}, {kB, 0, 1, false}});
  run(kNotWhole, {{kA, 0, 1}, {kB, 0, 1, false}});
  EXPECT_EQ(wanted(), std::vector{part_key(kB, 0)});
  EXPECT_EQ(reasons(), kSmallRange);
}

// A range that only a further run knows of: the runs differ, and this one has not been watched.
TEST_F(Parts, ARangeThatTheFirstRunDidNotHave) {
  run(kNotWhole, {{kA, 0, 2}});
  run(kNotWhole, {{kA, 1, 2}, {kB, 0, 1, false}});
  EXPECT_EQ(wanted(), std::vector{part_key(kB, 0)});
  EXPECT_EQ(reasons(), kSmallRange);
}

// The second run saw its part used before the wait: it was another wait's business then. That it watched the
// range at all, the other wait says.
TEST_F(Parts, UsedBeforeTheWait) {
  run(kNotWhole, {{kA, 0, 2}});
  run_beside(Part{kA, 1, 2}, uint32_t{0});
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, NotWatchedBeforeTheWait) {
  run(kNotWhole, {{kA, 0, 2}});
  run_beside(Part{kA, 1, 2, false}, uint32_t{0});
  EXPECT_EQ(reasons(), kSmallRange);
}

// The records are lost: nothing says what there was to watch, and no run can be asked for it.
TEST_F(Parts, WithoutRecordsItStaysNeeded) {
  run(kNotWhole);
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), kSmallRange);
}

TEST_F(Parts, ARunWithoutTheWaitSaysNothing) {
  run(kNotWhole, {{kA, 0, 2}});
  run(std::nullopt);
  EXPECT_EQ(reasons(), kSmallRange);
  EXPECT_EQ(wanted(), std::vector{part_key(kA, 1)});
}

TEST_F(Parts, WhatNeedsNoFurtherRunIsLeftAsItIs) {
  run(kHostFunction);
  EXPECT_EQ(wanted(), nothing);
  EXPECT_EQ(reasons(), kHostFunction);
}

TEST_F(Parts, OrderIsTheFirstRunsBusiness) {
  run(kNotWhole, {{kA, 0, 2}});
  run(kNotWhole | kOrder, {{kA, 1, 2}});  // it saw less of what is settled
  EXPECT_EQ(reasons(), 0u);
}

TEST_F(Parts, AUseThatTheFirstRunDidNotSee) {
  run(uint32_t{0});
  run(kCpuAccess);
  EXPECT_EQ(reasons(), kCpuAccess);
}

}  // namespace
}  // namespace diogenes
