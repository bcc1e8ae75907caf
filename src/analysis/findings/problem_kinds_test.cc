// Each kind of transfer and allocation problem: what it counts, what its fix gains, what it is said to rest
// on.
#include "analysis/findings/problem_kinds.h"

#include <gtest/gtest.h>

#include "analysis/findings/fixes.h"
#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

struct Found {
  explicit Found(const Timeline& trace, Nanoseconds threshold = {}) : analysed(trace, {}, threshold) {}
  const Problem* of(ProblemKind kind) const {
    for (const Problem& problem : analysed.problems.found)
      if (problem.kind == kind) return &problem;
    return nullptr;
  }
  size_t count() const { return analysed.problems.found.size(); }
  Advice advice(const Problem& problem) const {
    return advice_for(problem, *function_of(analysed.sites[problem.site]), "", "a.cc:9");
  }
  bool says(const Problem& problem, const std::string& words) const {
    const Advice said = advice(problem);
    for (const ReportCondition& condition : said.conditions)
      if (condition.text.find(words) != std::string::npos) return true;
    return said.why.find(words) != std::string::npos;
  }
  Analysed analysed;
};

constexpr const char* kUp = "cuMemcpyHtoD_v2";
constexpr const char* kUpAsync = "cuMemcpyHtoDAsync_v2";
constexpr const char* kDown = "cuMemcpyDtoH_v2";

// The copy on the device takes what the run's asynchronous copies take: 2 us here, so 6 - 2 are gained each.
TEST(ProblemKinds, SentElsewhereBeforeIsCopiedOnTheDevice) {
  auto trace = timeline().copy(kUpAsync, 8, lasting(0), 2).copy(kUp, 4096, lasting(0), 6).needed(kOrder);
  for (int i = 0; i < 3; ++i)
    trace.copy(kUp, 4096, lasting(0), 6).from(0x300).repeats(1, Duplicate::elsewhere).needed(kOrder);
  Found found(trace.work(10));
  ASSERT_EQ(found.count(), 1u);
  const Problem* problem = found.of(ProblemKind::duplicate_elsewhere);
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->count, 3u);
  EXPECT_DOUBLE_EQ(us(problem->benefit), 3 * 4);
  EXPECT_EQ(problem->duplicates.size(), 1u);
  EXPECT_NE(found.advice(*problem).fix.find("copy it on the device"), std::string::npos);
  EXPECT_TRUE(found.says(*problem, "all 3 transfers carried data that was sent to another place"));
}

// A fill takes what the run's asynchronous copies take, 2 us: 6 - 2 are gained each.
TEST(ProblemKinds, OneValueOverAndOverIsAFill) {
  auto trace = timeline().copy(kUpAsync, 8, lasting(0), 2);
  for (int i = 0; i < 3; ++i)
    trace.copy(kUp, 4096, lasting(0), 6).from(0x300).constant(Constant::bytes).needed(kOrder);
  Found found(trace.work(10));
  ASSERT_EQ(found.count(), 1u);
  const Problem* problem = found.of(ProblemKind::constant_transfer);
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->count, 3u);
  EXPECT_DOUBLE_EQ(us(problem->benefit), 3 * 4);
  EXPECT_NE(found.advice(*problem).fix.find("cudaMemsetAsync"), std::string::npos);
  EXPECT_TRUE(found.says(*problem, "all 3 transfers carried one value over and over"));
}

TEST(ProblemKinds, ZerosAreNamed) {
  const auto fix_of = [](int zeros) {
    auto trace = timeline().copy(kUpAsync, 8, lasting(0), 2);
    for (int i = 0; i < 3; ++i)
      trace.copy(kUp, 4096, lasting(0), 6)
          .from(0x300)
          .constant(i < zeros ? Constant::zero : Constant::bytes)
          .needed(kOrder);
    Found found(trace.work(10));
    const Problem* problem = found.of(ProblemKind::constant_transfer);
    return problem ? found.advice(*problem).fix : "";
  };
  EXPECT_EQ(fix_of(3).substr(0, 11), "write zeros");
  EXPECT_EQ(fix_of(2).substr(0, 11), "write the v");
}

// The destination still held it: the copy goes. It was sent elsewhere before: a fill is as good, and simpler.
TEST(ProblemKinds, OneValueThatWasThereIsADuplicateFirst) {
  auto trace = timeline().copy(kUpAsync, 8, lasting(0), 2).copy(kUp, 4096, lasting(0), 6).needed(kOrder);
  for (int i = 0; i < 3; ++i)
    trace.copy(kUp, 4096, lasting(0), 6).from(0x300).constant(Constant::words).repeats(1).needed(kOrder);
  for (int i = 0; i < 3; ++i)
    trace.copy(kUp, 4096, lasting(0), 6)
        .from(0x400)
        .constant(Constant::words)
        .repeats(1, Duplicate::elsewhere)
        .needed(kOrder);
  Found found(trace.work(10));
  EXPECT_EQ(found.count(), 2u);
  EXPECT_NE(found.of(ProblemKind::duplicate_transfer), nullptr);
  const Problem* constant = found.of(ProblemKind::constant_transfer);
  ASSERT_NE(constant, nullptr);
  EXPECT_NE(found.advice(*constant).fix.find("cuMemsetD32Async"), std::string::npos);
}

// --max-overhead: of 8 copies 3 have a hash, and 2 of these repeat the first.
TEST(ProblemKinds, OfADuplicatesSiteTheCopiesThatWereLookedAtCount) {
  auto trace = timeline().copy(kUp, 4096, lasting(0), 6).from(0x300).needed(kOrder);
  for (int i = 0; i < 2; ++i) trace.copy(kUp, 4096, lasting(0), 6).from(0x300).repeats(0).needed(kOrder);
  for (int i = 0; i < 5; ++i) trace.copy(kUp, 4096, lasting(0), 6).from(0x300).left_out().needed(kOrder);
  Found found(trace.work(10), Nanoseconds{1'000'000});
  ASSERT_EQ(found.count(), 1u);
  const Problem* problem = found.of(ProblemKind::duplicate_transfer);
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->count, 2u);
  EXPECT_EQ(problem->instances, 8u);
  EXPECT_DOUBLE_EQ(us(problem->benefit), 2 * 6);
  EXPECT_TRUE(found.says(*problem, "3 of 8 calls were looked at, because of --max-overhead"));
  EXPECT_TRUE(found.says(*problem, "2 of 3 transfers carried data that the destination already held"));
}

// Without an asynchronous copy in the run, one is taken to cost 5 us.
TEST(ProblemKinds, ACopyThatIsCheapAlreadyIsNoProblem) {
  auto trace = timeline().copy(kUp, 4096, lasting(0), 4).needed(kOrder);
  trace.copy(kUp, 4096, lasting(0), 4).repeats(0, Duplicate::elsewhere).needed(kOrder);
  Found found(trace.work(10));
  EXPECT_EQ(found.count(), 0u);
  EXPECT_EQ(found.analysed.problems.minor_transfer_sites, 1u);
}

// What is copied from on the device must have been sent: an unused transfer goes, and is no source then.
TEST(ProblemKinds, AnUnusedTransferIsNoSource) {
  auto trace = timeline().copy(kUp, 4096, lasting(0), 20).needed(kOrder).unused(Unused::overwritten, 2);
  trace.copy(kUp, 4096, lasting(0), 20).repeats(0, Duplicate::elsewhere).needed(kOrder);
  trace.copy(kUp, 4096, lasting(0), 20).needed(kOrder).work(10);
  Found found(trace);
  ASSERT_EQ(found.count(), 1u);
  EXPECT_EQ(found.analysed.problems.found[0].kind, ProblemKind::unused_transfer);
}

// Of the same bytes twice to one place, the second goes; the first is used through it.
TEST(ProblemKinds, OverwrittenByItsDuplicateIsNotUnused) {
  auto trace = timeline().copy(kUp, 4096, lasting(0), 20).needed(kOrder).unused(Unused::overwritten, 1);
  trace.copy(kUp, 4096, lasting(0), 20).repeats(0).needed(kOrder).work(10);
  Found found(trace);
  ASSERT_EQ(found.count(), 1u);
  EXPECT_EQ(found.analysed.problems.found[0].kind, ProblemKind::duplicate_transfer);
}

TEST(ProblemKinds, RoundTripToWhereItStillIsGoesAsAWhole) {
  auto trace = timeline().copy(kDown, 4096, lasting(1), 9).first_use(after(1));
  trace.copy(kUp, 4096, lasting(0), 9).repeats(0, Duplicate::returned_held).needed(kOrder).work(10);
  Found found(trace);
  ASSERT_EQ(found.count(), 1u);
  const Problem* problem = found.of(ProblemKind::round_trip);
  ASSERT_NE(problem, nullptr);
  EXPECT_DOUBLE_EQ(us(problem->benefit), 9);
  EXPECT_EQ(problem->held, 1u);
  EXPECT_NE(found.advice(*problem).fix.find("remove the copy back"), std::string::npos);
}

TEST(ProblemKinds, RoundTripToAnotherPlaceIsCopiedOnTheDevice) {
  auto trace = timeline().copy(kDown, 4096, lasting(1), 9).first_use(after(1));
  trace.copy(kUp, 4096, lasting(0), 9).repeats(0, Duplicate::returned).needed(kOrder).work(10);
  Found found(trace);
  const Problem* problem = found.of(ProblemKind::round_trip);
  ASSERT_NE(problem, nullptr);
  EXPECT_DOUBLE_EQ(us(problem->benefit), 9 - 5);
  EXPECT_NE(found.advice(*problem).fix.find("copy it there"), std::string::npos);
}

TEST(ProblemKinds, UnusedTakesItsNeedlessWaitAlong) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i)
    trace.launch(1)
        .copy(kDown, 4096, lasting(40), 6)
        .from(0x200)
        .unnecessary()
        .unused(Unused::overwritten, 3)
        .work(15);
  Found found(trace);
  ASSERT_EQ(found.count(), 1u);
  const Problem& problem = found.analysed.problems.found[0];
  EXPECT_EQ(problem.kind, ProblemKind::unused_transfer);
  EXPECT_EQ(problem.unnecessary_waits, 2u);
  ASSERT_EQ(problem.lost.size(), 1u);
  // Own times of 6, and the waits as far as CPU work lies behind them: 15 + 1 (launch) and 15.
  EXPECT_DOUBLE_EQ(us(problem.benefit), 2 * 6 + 16 + 15);
}

TEST(ProblemKinds, UnusedComesBeforeAllOtherKinds) {
  Operation operation;
  operation.unused = Unused::overwritten;
  operation.duplicate = Duplicate::verified;
  operation.pageable = true;
  EXPECT_EQ(own_kind(driver_function(find_driver_function(kUpAsync)), operation),
            ProblemKind::unused_transfer);
  operation.unused = Unused::no;
  EXPECT_EQ(own_kind(driver_function(find_driver_function(kUpAsync)), operation),
            ProblemKind::duplicate_transfer);
  operation.duplicate = Duplicate::none;
  EXPECT_EQ(own_kind(driver_function(find_driver_function(kUpAsync)), operation),
            ProblemKind::pageable_transfer);
  operation.flags = kWaited;
  operation.reasons = kCpuAccess;
  EXPECT_EQ(own_kind(driver_function(find_driver_function(kUpAsync)), operation), std::nullopt);
}

// 50 us of staging become a call of 5; the wait inside the other kind goes as far as CPU work lies behind it.
TEST(ProblemKinds, PageableMemoryHoldsAnAsynchronousCopyUp) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i) trace.copy(kUpAsync, 1 << 20, lasting(0), 50).from(0x200).pageable().work(10);
  Found staged(trace);
  ASSERT_EQ(staged.count(), 1u);
  EXPECT_EQ(staged.analysed.problems.found[0].kind, ProblemKind::pageable_transfer);
  EXPECT_DOUBLE_EQ(us(staged.analysed.problems.found[0].benefit), 2 * 45);

  auto waits = timeline().launch(1).copy("cuMemcpyDtoHAsync_v2", 1 << 20, lasting(30), 6).pageable();
  waits.unnecessary().work(20);
  Found waiting(waits);
  ASSERT_EQ(waiting.count(), 1u);
  EXPECT_DOUBLE_EQ(us(waiting.analysed.problems.found[0].benefit), 1 + 20);
  EXPECT_TRUE(waiting.analysed.problems.found[0].synchronization_issue());
}

TEST(ProblemKinds, PinnedOrBlockingCopiesAreNotHeldUp) {
  auto pinned = timeline().copy(kUpAsync, 1 << 20, lasting(0), 50).work(10);
  EXPECT_EQ(Found(pinned).count(), 0u);
  auto blocking = timeline().copy(kUp, 1 << 20, lasting(0), 50).pageable().needed(kOrder).work(10);
  EXPECT_EQ(Found(blocking).count(), 0u);
}

// Without a needless wait in the release, the allocations are a problem of their own: of three, two could
// keep what was released.
TEST(ProblemKinds, RepeatedAllocationWithItsRelease) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i)
    trace.allocate(0x1000, 4096, 30)
        .from(0x100)
        .work(50)
        .release(0x1000, lasting(5), 20)
        .from(0x200)
        .needed(kOrder);
  Found found(trace.work(10));
  ASSERT_EQ(found.count(), 1u);
  const Problem& problem = found.analysed.problems.found[0];
  EXPECT_EQ(problem.kind, ProblemKind::repeated_allocation);
  EXPECT_EQ(problem.count, 2u);
  EXPECT_EQ(problem.instances, 3u);
  EXPECT_EQ(problem.allocations, 2u);  // releases
  EXPECT_DOUBLE_EQ(us(problem.benefit), 2 * 30 + 2 * 20);
  EXPECT_FALSE(problem.synchronization_issue());
  EXPECT_FALSE(problem.transfer_issue());
}

// The needless wait in the release is the problem; the same fix ends the allocations.
TEST(ProblemKinds, AReleasesProblemTakesItsAllocationsAlong) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i)
    trace.launch(1)
        .allocate(0x1000, 4096, 30)
        .from(0x100)
        .work(50)
        .release(0x1000, lasting(5), 20)
        .from(0x200)
        .unnecessary();
  Found found(trace.work(10));
  ASSERT_EQ(found.count(), 1u);
  const Problem& problem = found.analysed.problems.found[0];
  EXPECT_EQ(problem.kind, ProblemKind::unnecessary_synchronization);
  EXPECT_EQ(problem.count, 3u);
  EXPECT_EQ(problem.allocations, 2u);
  EXPECT_DOUBLE_EQ(us(problem.allocation_time), 60);
  // Three waits of 5, all with CPU work behind them; two releases are not made again, two allocations
  // neither.
  EXPECT_DOUBLE_EQ(us(problem.benefit), 3 * 5 + 2 * 20 + 2 * 30);
  EXPECT_EQ(found.advice(problem).fix.find("move the allocation and the release out of the loop"), 0u);
  EXPECT_TRUE(found.says(problem, "2 allocations of the same size (most at a.cc:9) go, too"));
  EXPECT_TRUE(found.says(problem, "memory must be reused in stream order"));
}

TEST(ProblemKinds, OtherSizesAndOtherCallsAreNoRepetition) {
  auto sizes =
      timeline().allocate(0x1000, 4096, 30).from(0x100).release(0x1000, lasting(5), 20).needed(kOrder);
  sizes.allocate(0x1000, 8192, 30).from(0x100).work(10);
  EXPECT_EQ(Found(sizes).count(), 0u);
  auto places =
      timeline().allocate(0x1000, 4096, 30).from(0x100).release(0x1000, lasting(5), 20).needed(kOrder);
  places.allocate(0x1000, 4096, 30).from(0x108).work(10);
  EXPECT_EQ(Found(places).count(), 0u);
  auto held = timeline().allocate(0x1000, 4096, 30).from(0x100).allocate(0x3000, 4096, 30).from(0x100);
  EXPECT_EQ(Found(held.work(10)).count(), 0u);
}

// Three fixes, each as its figure has it: hoisted, kept for another one, released in stream order.
TEST(ProblemKinds, TheFixOfAReleaseIsTheOneItsFigureAssumes) {
  auto pool =
      timeline().launch(1).allocate(0x1000, 4096, 3).work(50).release(0x1000, lasting(5), 20).unnecessary();
  pool.allocate(0x2000, 4096, 3).work(10);
  Found kept(pool);
  ASSERT_EQ(kept.count(), 1u);
  EXPECT_TRUE(kept.analysed.problems.found[0].call_removed);
  EXPECT_NE(kept.advice(kept.analysed.problems.found[0]).fix.find("in a pool"), std::string::npos);
  auto last =
      timeline().launch(1).allocate(0x1000, 4096, 3).work(50).release(0x1000, lasting(5), 20).unnecessary();
  Found wait_only(last.work(10));
  ASSERT_EQ(wait_only.count(), 1u);
  EXPECT_DOUBLE_EQ(us(wait_only.analysed.problems.found[0].benefit), 5);
  EXPECT_NE(wait_only.advice(wait_only.analysed.problems.found[0]).fix.find("cudaFreeAsync"),
            std::string::npos);
  EXPECT_TRUE(wait_only.says(wait_only.analysed.problems.found[0], "the figure is for the wait only"));
}

// Of the copies that can go, one has a wait that orders other work, and of one nobody saw whether its wait is needed.
TEST(ProblemKinds, AWaitThatWasNotJudgedIsNotCalledNeeded) {
  auto trace = timeline().copy(kUp, 4096, lasting(5), 20).from(0x100).needed(kOrder);
  trace.copy(kUp, 4096, lasting(5), 20).from(0x100).repeats(0, Duplicate::elsewhere).needed(kOrder);
  trace.copy(kUp, 4096, lasting(5), 20).from(0x100).repeats(0, Duplicate::elsewhere).needed(kUnresolved);
  trace.copy(kUp, 4096, lasting(5), 20)
      .from(0x100)
      .repeats(0, Duplicate::elsewhere)
      .needed(kSmallRange)
      .work(10);
  Found found(trace);
  ASSERT_EQ(found.count(), 1u);
  const Problem& problem = found.analysed.problems.found[0];
  EXPECT_EQ(problem.count, 3u);
  EXPECT_TRUE(found.says(
      problem, "the wait in 1 of these calls is needed for other work: keep a synchronization there"));
  EXPECT_TRUE(
      found.says(problem, "the wait in 2 of these calls was not judged: keep a synchronization there"));
}

TEST(ProblemKinds, NorIsThatOfAReleaseThatGoesWithIt) {
  auto trace =
      timeline().allocate(0x1000, 4096, 30).from(0x100).release(0x1000, lasting(5), 20).needed(kUnresolved);
  trace.allocate(0x1000, 4096, 30).from(0x100).work(10);
  Found found(trace);
  ASSERT_EQ(found.count(), 1u);
  const Problem& problem = found.analysed.problems.found[0];
  EXPECT_EQ(problem.kind, ProblemKind::repeated_allocation);
  EXPECT_TRUE(
      found.says(problem, "the wait in 1 of these calls was not judged: keep a synchronization there"));
  EXPECT_FALSE(found.says(problem, "needed for other work"));
}

TEST(ProblemKinds, UnusedAllocation) {
  auto trace = timeline().allocate(0x1000, 4096, 30).unused(Unused::released, 1);
  trace.release(0x1000, lasting(0), 20).needed(kOrder).work(10);
  Found found(trace);
  ASSERT_EQ(found.count(), 1u);
  EXPECT_EQ(found.analysed.problems.found[0].kind, ProblemKind::unused_allocation);
  EXPECT_DOUBLE_EQ(us(found.analysed.problems.found[0].benefit), 30);
}

TEST(ProblemKinds, BelowTheThresholdTheyAreCountedOnly) {
  auto trace = timeline().copy(kUp, 4096, lasting(0), 20).needed(kOrder);
  trace.copy(kUp, 4096, lasting(0), 20).repeats(0, Duplicate::elsewhere).needed(kOrder);
  trace.allocate(0x1000, 4096, 30).unused(Unused::released, -1).work(10);
  Found found(trace, Nanoseconds{100'000});
  EXPECT_EQ(found.count(), 0u);
  EXPECT_EQ(found.analysed.problems.minor_transfer_sites, 1u);
  EXPECT_EQ(found.analysed.problems.minor_transfers, 1u);
  EXPECT_EQ(found.analysed.problems.minor_allocation_sites, 1u);
}

}  // namespace
}  // namespace diogenes
