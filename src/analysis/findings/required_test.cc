#include "analysis/findings/required.h"

#include <gtest/gtest.h>

#include "analysis/report/coverage.h"
#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

ProblemInput input_of(const Analysed& analysed) {
  return {analysed.tracing, analysed.sites, analysed.graph, analysed.verdicts, analysed.first_uses, {}};
}

// One loop reads its result at once, another waits for nothing. Without the first one's wait of 20, the CPU goes on
// for 30 until the next wait: all of it is gained, twice.
TEST(Required, IsWhatTheLoopWouldGainWithoutItsNeededWait) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i) trace.launch(1).sync(lasting(20)).from(0x100).first_use(after(0)).work(30);
  trace.launch(1).sync(lasting(10)).from(0x200).unnecessary().work(40);
  Analysed analysed(trace);
  auto required = find_required(input_of(analysed), analysed.problems.found, Nanoseconds{1000}, 10);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 2u);
  EXPECT_EQ(required[0].instances, 2u);
  EXPECT_DOUBLE_EQ(us(required[0].waited), 40);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 40);
  EXPECT_EQ(required[0].reasons.at(kCpuAccess), 2u);
}

// Who does not ask for a result needs neither the call that waits for it, of 2, nor the copy that brings it, of 5.
TEST(Required, TakesTheCopiesToTheHostAlong) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i) {
    trace.launch(1).copy("cuMemcpyDtoHAsync_v2", 4, lasting(0), 5).from(0x150).without_wait();
    trace.sync(lasting(20), 2).from(0x100).first_use(after(0)).work(40);
  }
  trace.launch(1).sync(lasting(10)).from(0x200).unnecessary().work(40);
  Analysed analysed(trace);
  auto required = find_required(input_of(analysed), analysed.problems.found, Nanoseconds{1000}, 10);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 2u);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 2 * (20 + 2 + 5));
}

TEST(Required, LeavesOutWhatWaitsLessAndWhatAProblemMoves) {
  auto trace = timeline();
  trace.launch(1)
      .sync(lasting(20))
      .from(0x100)
      .first_use(after(15))
      .work(30);  // misplaced: a problem of its own
  trace.launch(1).sync(lasting(4)).from(0x200).first_use(after(0)).work(30);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  EXPECT_EQ(find_required(input_of(analysed), analysed.problems.found, Nanoseconds{1000}, 10).size(), 1u);
  EXPECT_TRUE(find_required(input_of(analysed), analysed.problems.found, Nanoseconds{5000}, 10).empty());
}

// 15 of 40 are gained where the result is used; the other 25 only by those who do not ask for it.
TEST(Required, HoldsWhatAMoveGainsLittleOf) {
  auto trace = timeline();
  trace.launch(1).sync(lasting(40)).from(0x100).first_use(after(15)).work(60);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  EXPECT_EQ(analysed.problems.found[0].kind, ProblemKind::misplaced_synchronization);
  auto required = find_required(input_of(analysed), analysed.problems.found, Nanoseconds{1000}, 10);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 1u);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 40);
}

// Two were not looked at, and one of them was seen to be used all the same.
TEST(Required, SaysHowManyWereNotJudged) {
  auto trace = timeline();
  for (const uint32_t reasons : std::initializer_list<uint32_t>{kCpuAccess, kOverBudget | kOtherThread,
                                                                kOverBudget | kCpuAccess, kSmallRange})
    trace.launch(1).sync(lasting(20)).from(0x100).needed(reasons).work(30);
  Analysed analysed(trace);
  auto required = find_required(input_of(analysed), analysed.problems.found, Nanoseconds{1000}, 10);
  ASSERT_EQ(required.size(), 1u);
  EXPECT_EQ(required[0].count, 4u);
  EXPECT_EQ(required[0].not_judged, 2u);
  EXPECT_EQ(coverage_of(analysed.tracing).judged, 2u);
}

TEST(Required, TakesNoMoreThanAsked) {
  auto trace = timeline();
  for (uint64_t place = 1; place <= 3; ++place)
    trace.launch(1)
        .sync(lasting(10 * static_cast<int>(place)))
        .from(0x100 * place)
        .first_use(after(0))
        .work(50);
  Analysed analysed(trace);
  auto required = find_required(input_of(analysed), analysed.problems.found, Nanoseconds{1000}, 2);
  ASSERT_EQ(required.size(), 2u);
  EXPECT_DOUBLE_EQ(us(required[0].up_to.benefit), 30);
  EXPECT_DOUBLE_EQ(us(required[1].up_to.benefit), 20);
}

}  // namespace
}  // namespace diogenes
