// Which runs stages 2 and 3 leave worth making. Times in microseconds.
#include "analysis/runs/further_runs.h"

#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

constexpr Nanoseconds time_us(int64_t count) { return {1000 * count}; }

TEST(FurtherRuns, NoneWhereStage3RanAsStage2) {
  // The waits are off by 10 of 100, the gaps by 20 of 200: both are 10%, not more.
  RunsSoFar so_far{.runtime = time_us(1000),
                   .benefit = time_us(100),
                   .misplaced = {{time_us(50), {time_us(200), time_us(220)}}},
                   .waited = time_us(100),
                   .missed = time_us(10),
                   .gpu_times_of_stage_3 = true};
  FurtherRuns further = further_runs(so_far);
  EXPECT_FALSE(further.gpu_times);
  EXPECT_FALSE(further.sync_use);
}

TEST(FurtherRuns, GpuTimesWhereTheyDoNotGiveTheWaits) {
  RunsSoFar so_far{
      .runtime = time_us(1000), .benefit = time_us(80), .waited = time_us(100), .missed = time_us(11)};
  EXPECT_FALSE(further_runs(so_far).gpu_times);  // stage 3 told none: a run of its own has no source either
  so_far.gpu_times_of_stage_3 = true;
  EXPECT_TRUE(further_runs(so_far).gpu_times);
  so_far.waited = {};  // the problems are none of waits: nothing rests on how long they were
  EXPECT_FALSE(further_runs(so_far).gpu_times);
}

TEST(FurtherRuns, NoneForAHundredthOfTheRunTime) {
  RunsSoFar so_far{.runtime = time_us(8000),
                   .benefit = time_us(80),
                   .waited = time_us(100),
                   .missed = time_us(50),
                   .gpu_times_of_stage_3 = true};
  EXPECT_TRUE(further_runs(so_far).gpu_times);
  so_far.runtime = time_us(8001);
  EXPECT_FALSE(further_runs(so_far).gpu_times);
}

TEST(FurtherRuns, FirstUsesWhereTheGapsDiffer) {
  // 30 longer at one site and 30 shorter at the other: 60 of 400 is 15%.
  RunsSoFar so_far{
      .runtime = time_us(1000),
      .benefit = time_us(100),
      .misplaced = {{time_us(10), {time_us(200), time_us(230)}}, {time_us(10), {time_us(200), time_us(170)}}},
      .waited = time_us(100)};
  EXPECT_TRUE(further_runs(so_far).sync_use);
  so_far.benefit = time_us(200);  // 20 of 200: what is misplaced carries too little of it
  EXPECT_FALSE(further_runs(so_far).sync_use);
}

// In stage 2: S until 10, 40 of work, a call. In stage 3 there are 50 between the two calls.
struct LongerGap {
  explicit LongerGap(double use) : analysed(tracing(), {}, {}, &(later = memory_tracing(use))) {}
  static Timeline tracing() {
    return timeline().sync(lasting(10)).from(0x100).work(40).call("cuMemAlloc_v2", lasting(0), 1).from(0x200);
  }
  static Timeline memory_tracing(double use) {
    auto trace = timeline().sync(lasting(10)).from(0x100).first_use(after(use)).work(50);
    return trace.call("cuMemAlloc_v2", lasting(0), 1).from(0x200);
  }
  const Operation& sync() const { return analysed.tracing.processes[0].threads[0].operations[0]; }
  Timeline later;
  Analysed analysed;
};

TEST(FirstUses, LieAsFarBehindTheCallBeforeThem) {
  LongerGap gap(20);
  EXPECT_EQ(gap.sync().after, time_us(20));
  EXPECT_TRUE(gap.sync().after_placed);
  const TimeInBoth& gaps = gap.analysed.verdicts[gap.sync().site.value].gaps;
  EXPECT_EQ(gaps.tracing, time_us(40));
  EXPECT_EQ(gaps.memory_tracing, time_us(50));
}

TEST(FirstUses, MayHaveComeAtOnceWhereTheGapGotLongerByAsMuch) {
  LongerGap gap(10);
  EXPECT_EQ(gap.sync().after, Nanoseconds{});
}

TEST(FirstUses, LieBeforeTheCallBehindThem) {
  LongerGap gap(45);  // stage 2 makes the next call after 40
  EXPECT_EQ(gap.sync().after, time_us(40));
}

}  // namespace
}  // namespace diogenes
