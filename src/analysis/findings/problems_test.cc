#include "analysis/findings/problems.h"

#include <gtest/gtest.h>

#include "analysis/findings/fixes.h"
#include "analysis/report/notices.h"
#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

const Problem* find(const Analysed& analysed, ProblemKind kind) {
  for (const Problem& problem : analysed.problems.found)
    if (problem.kind == kind) return &problem;
  return nullptr;
}
constexpr auto kUnnecessary = ProblemKind::unnecessary_synchronization;
constexpr auto kMisplaced = ProblemKind::misplaced_synchronization;
constexpr auto kDuplicate = ProblemKind::duplicate_transfer;

// `needed` instances of one site that are used at once, then `unused` that are not.
Timeline loop(int needed, int unused, uint32_t reasons = kCpuAccess) {
  Timeline trace;
  for (int i = 0; i < needed; ++i)
    trace.launch(1).sync(lasting(10)).from(0x100).first_use(after(1), reasons).work(5);
  for (int i = 0; i < unused; ++i) trace.launch(1).sync(lasting(10)).from(0x100).unnecessary().work(5);
  return trace;
}

TEST(Problems, SiteIsUnnecessaryIfAllInstancesAre) {
  Analysed analysed(loop(0, 4));
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  const Problem& problem = analysed.problems.found[0];
  EXPECT_EQ(problem.kind, kUnnecessary);
  EXPECT_EQ(problem.count, 4u);
  EXPECT_EQ(problem.instances, 4u);
  EXPECT_DOUBLE_EQ(us(problem.waited), 40);
  // Between two of them 5 + 1 each time; what is left is carried: 6, 6, 6, and 5 before the exit.
  EXPECT_DOUBLE_EQ(us(problem.benefit), 6 + 6 + 6 + 5);
}

// One line is changed: less may do only if it does for all of its needed instances.
void expect_if_all(Condition less, uint32_t reason, ProblemKind kind) {
  const auto waits = [&](int narrow, int whole) {
    Timeline trace;
    for (int i = 0; i < narrow + whole; ++i)
      trace.launch(1).sync(lasting(10)).from(0x100).needed(reason).conditions(i < narrow ? less : 0).work(5);
    return Analysed(trace);
  };
  const Analysed all = waits(4, 0);
  ASSERT_EQ(all.problems.found.size(), 1u);
  EXPECT_EQ(all.problems.found[0].kind, kind);
  EXPECT_EQ(all.problems.found[0].count, 4u);
  EXPECT_TRUE(waits(4, 1).problems.found.empty());
}

TEST(Problems, AWaitIsTooWideIfAllItsNeededInstancesAre) {
  expect_if_all(kConditionOneStream, kExposed, ProblemKind::wide_synchronization);
}

// Someone else had the CPU before the result was read: by so little a wait cannot move that waits for a millisecond.
TEST(Problems, AWaitThatIsTooWideIsNotSaidToBeEarly) {
  const auto kind_of_wait = [](double waited_us) {
    Timeline trace;
    for (int i = 0; i < 4; ++i)
      trace.launch(1)
          .sync(lasting(waited_us))
          .from(0x100)
          .first_use(after(16), kCpuAccess)
          .conditions(kConditionOneStream)
          .work(30);
    const Analysed analysed(trace);
    return analysed.problems.found.size() == 1 ? std::optional(analysed.problems.found[0].kind)
                                               : std::nullopt;
  };
  EXPECT_EQ(kind_of_wait(1'000), ProblemKind::wide_synchronization);
  EXPECT_EQ(kind_of_wait(100), kMisplaced);
}

TEST(Problems, AWaitOnlyOrdersGpuWorkIfAllItsNeededInstancesDo) {
  expect_if_all(kConditionOnlyOrders, kOrder, ProblemKind::ordering_synchronization);
}

TEST(Problems, LoneLastInstanceOfANeededSiteIsNoProblem) {
  EXPECT_TRUE(Analysed(loop(1, 1)).problems.found.empty());
  EXPECT_TRUE(Analysed(loop(5, 1)).problems.found.empty());
}

TEST(Problems, ConditionallyUnnecessaryFromHalfOn) {
  Analysed half(loop(3, 3));
  ASSERT_EQ(half.problems.found.size(), 1u);
  EXPECT_EQ(half.problems.found[0].count, 3u);
  EXPECT_EQ(half.problems.found[0].instances, 6u);
  EXPECT_EQ(half.problems.found[0].used, 3u);
  Advice advice =
      advice_for(half.problems.found[0], *function_of(half.sites[half.problems.found[0].site]), "a.cc:7");
  EXPECT_EQ(
      advice.why,
      "nothing used the result of 3 of 6 calls before a later synchronization waited for the same work; used at "
      "a.cc:7 in the others");

  Analysed fewer(loop(4, 3));
  EXPECT_TRUE(fewer.problems.found.empty());
  EXPECT_EQ(fewer.problems.rarely_unnecessary_sites, 1u);
}

// --max-overhead: of 10 instances 4 were looked at. L, S, 5 us of work; 10 us waited each.
TEST(Problems, UnnecessaryWhereverItWasLookedAt) {
  Timeline trace = loop(6, 4, kOverBudget);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  const Problem& problem = analysed.problems.found[0];
  EXPECT_EQ(problem.kind, kUnnecessary);
  EXPECT_EQ(problem.count, 4u);
  EXPECT_EQ(problem.instances, 10u);
  EXPECT_EQ(problem.left_out, 6u);
  EXPECT_DOUBLE_EQ(us(problem.waited), 4 * 10);  // of those that were judged
  EXPECT_EQ(problem.changes.size(), 4u);
  EXPECT_EQ(problem.used + problem.unwatched, 0u);
  Advice advice = advice_for(problem, *function_of(analysed.sites[problem.site]), "");
  ASSERT_FALSE(advice.conditions.empty());
  EXPECT_EQ(advice.conditions[0].code, "sampled");
  EXPECT_EQ(
      advice.conditions[0].text,
      "4 of 10 calls were looked at, because of --max-overhead; the others count as needed, and are not in the figure");
}

TEST(Problems, UnnecessaryInSomeOfThoseThatWereLookedAt) {
  Timeline trace = loop(6, 4, kOverBudget | kOtherThread);
  trace.launch(1).sync(lasting(10)).from(0x100).first_use(after(1), kCpuAccess).work(5);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  const Problem& problem = analysed.problems.found[0];
  EXPECT_EQ(problem.looked_at(), 5u);
  EXPECT_EQ(problem.used, 1u);
  Advice advice = advice_for(problem, *function_of(analysed.sites[problem.site]), "a.cc:7");
  EXPECT_EQ(
      advice.why,
      "nothing used the result of 4 of 5 calls before a later synchronization waited for the same work; used at "
      "a.cc:7 in the others");
}

TEST(Problems, NeededWhereItWasLookedAtIsNone) {
  Timeline trace = loop(6, 0, kOverBudget);
  EXPECT_TRUE(Analysed(trace).problems.found.empty());
  for (int i = 0; i < 3; ++i) trace.launch(1).sync(lasting(10)).from(0x100).first_use(after(1)).work(5);
  EXPECT_TRUE(Analysed(trace).problems.found.empty());
  // What is needed for another reason, too, was seen to be needed.
  Timeline both = loop(6, 4, kOverBudget | kCpuAccess);
  Analysed seen(both);
  EXPECT_TRUE(seen.problems.found.empty());
  EXPECT_EQ(seen.problems.rarely_unnecessary_sites, 1u);
}

TEST(Problems, MisplacedWhereverItWasLookedAt) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) trace.launch(1).sync(lasting(30)).from(0x100).first_use(after(20)).work(50);
  for (int i = 0; i < 5; ++i) trace.launch(1).sync(lasting(30)).from(0x100).needed(kOverBudget).work(50);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  const Problem& problem = analysed.problems.found[0];
  EXPECT_EQ(problem.kind, kMisplaced);
  EXPECT_EQ(problem.count, 3u);
  EXPECT_EQ(problem.looked_at(), 3u);
  EXPECT_DOUBLE_EQ(us(problem.benefit), 3 * 20);
}

TEST(Problems, WithoutAVerdictItIsNeeded) {
  auto trace = timeline().launch(1).sync(lasting(10)).work(100);
  EXPECT_TRUE(Analysed(trace).problems.found.empty());
}

TEST(Problems, UnwatchedReasonsAreNeededAndNeverMoved) {
  for (uint32_t reason : {kSmallRange, kExposed, kGuardRefused, kUndecoded, kDriverAccess, kUnknownMemory,
                          kOrder, kSharedMemory, kHostFunction}) {
    auto trace = timeline().launch(1).sync(lasting(10)).first_use(after(50), reason).work(100);
    EXPECT_TRUE(Analysed(trace).problems.found.empty()) << reason;
  }
}

TEST(Problems, FailedAndCapturedCallsAreLeftAlone) {
  auto failed = timeline().launch(1).sync(lasting(10)).unnecessary().flags(kFailed).work(100);
  EXPECT_TRUE(Analysed(failed).problems.found.empty());
  auto captured = timeline().copy("cuMemcpyHtoDAsync_v2", 8, lasting(0), 1);
  captured.copy("cuMemcpyHtoDAsync_v2", 8, lasting(0), 1).repeats(0).flags(kCapturing);
  EXPECT_TRUE(Analysed(captured).problems.found.empty());
}

TEST(Problems, MisplacedNeedsAKnownCpuUseOfEveryInstance) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) trace.launch(1).sync(lasting(30)).from(0x100).first_use(after(20)).work(50);
  Analysed all(trace);
  ASSERT_EQ(all.problems.found.size(), 1u);
  EXPECT_EQ(all.problems.found[0].kind, kMisplaced);
  EXPECT_DOUBLE_EQ(us(all.problems.found[0].benefit), 3 * 20);
  EXPECT_DOUBLE_EQ(us(*all.problems.found[0].after), 20);

  trace.launch(1).sync(lasting(30)).from(0x100).needed(kOrder).work(50);
  EXPECT_TRUE(Analysed(trace).problems.found.empty());
}

TEST(Problems, InstanceLeftOpenAtTheEndDoesNotHideAMisplacedSite) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) trace.launch(1).sync(lasting(30)).from(0x100).first_use(after(20)).work(50);
  trace.launch(1).sync(lasting(30)).from(0x100);
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  EXPECT_EQ(analysed.problems.found[0].count, 3u);
}

TEST(Problems, MisplacedBelowTheThresholdIsNone) {
  auto trace = timeline().launch(1).sync(lasting(30)).first_use(after(20)).work(50);
  EXPECT_EQ(Analysed(trace, {}, Nanoseconds{20'000}).problems.found.size(), 1u);
  EXPECT_TRUE(Analysed(trace, {}, Nanoseconds{20'001}).problems.found.empty());
  // A use within what the measurement itself takes is no evidence, however often.
  auto at_once = timeline();
  for (int i = 0; i < 100; ++i) at_once.launch(1).sync(lasting(30)).from(0x100).first_use(after(4)).work(50);
  EXPECT_TRUE(Analysed(at_once).problems.found.empty());
}

// A move that gains 20 us, by the paper's model. With a second thread that waits, and no GPU times, replay
// has it that it may gain nothing; in a thread alone it surely gains something.
Problems moved_by_20(bool threads, Nanoseconds threshold, Nanoseconds* low = nullptr) {
  auto trace = timeline().launch(1).sync(lasting(30)).from(0x100).first_use(after(20)).work(50);
  if (threads) trace.on_thread(1).launch(1).sync(lasting(30)).from(0x200).first_use(after(0)).work(50);
  Analysed analysed(trace, {.launches_traced = true});
  Replay replay(analysed.tracing, analysed.sites, analysed.graph);
  Models models(analysed.graph, &replay, Model::paper);
  Problems problems = find_problems({analysed.tracing, analysed.sites, analysed.graph, analysed.verdicts,
                                     analysed.first_uses, threshold, &models, &analysed.call_contexts});
  if (low && !problems.found.empty()) *low = problems.found[0].figure.low;
  return problems;
}

TEST(Problems, SmallMoveThatMayGainNothingIsCountedOnly) {
  // 20 us are less than five thresholds of 4,001 ns.
  Problems unsure = moved_by_20(true, Nanoseconds{4'001});
  EXPECT_TRUE(unsure.found.empty());
  EXPECT_EQ(unsure.unsure_moves, 1u);
}

TEST(Problems, MoveIsListedWhereItIsLargeOrItsWholeRangeIsAGain) {
  Nanoseconds low{1};
  Problems large = moved_by_20(true, Nanoseconds{4'000}, &low);
  ASSERT_EQ(large.found.size(), 1u);
  EXPECT_EQ(large.found[0].kind, kMisplaced);
  EXPECT_DOUBLE_EQ(us(large.found[0].benefit), 20);
  EXPECT_LE(low.count, 0);
  EXPECT_EQ(large.unsure_moves, 0u);
  Problems sure = moved_by_20(false, Nanoseconds{4'001}, &low);
  ASSERT_EQ(sure.found.size(), 1u);
  EXPECT_GT(low.count, 0);
  EXPECT_EQ(sure.unsure_moves, 0u);
}

TEST(Problems, DuplicateTransferTakesItsNeedlessWaitAlong) {
  auto trace = timeline().copy("cuMemcpyHtoD_v2", 4096, lasting(0), 6).from(0x200).needed(kOrder);
  for (int i = 0; i < 3; ++i)
    trace.work(15).copy("cuMemcpyHtoD_v2", 4096, lasting(40), 6).from(0x200).repeats(0).unnecessary();
  trace.work(15).sync(lasting(1)).first_use(after(0));
  Analysed analysed(trace);
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  const Problem& problem = analysed.problems.found[0];
  EXPECT_EQ(problem.kind, kDuplicate);
  EXPECT_EQ(problem.count, 3u);
  EXPECT_EQ(problem.instances, 4u);
  EXPECT_EQ(problem.unnecessary_waits, 3u);
  EXPECT_EQ(problem.bytes.count, 3u * 4096);
  EXPECT_TRUE(problem.synchronization_issue());
  EXPECT_TRUE(problem.transfer_issue());
  EXPECT_EQ(problem.duplicates.size(), 1u);
  EXPECT_DOUBLE_EQ(us(problem.benefit), 3 * 6 + 3 * 15);
}

TEST(Problems, DuplicateWithANeededWaitGainsItsCallOnly) {
  auto trace = timeline().copy("cuMemcpyHtoD_v2", 64, lasting(1), 6).needed(kOrder);
  trace.copy("cuMemcpyHtoD_v2", 64, lasting(40), 6).repeats(0).needed(kOrder).work(100);
  Analysed analysed(trace);
  const Problem* problem = find(analysed, kDuplicate);
  ASSERT_NE(problem, nullptr);
  EXPECT_DOUBLE_EQ(us(problem->benefit), 6);
  EXPECT_FALSE(problem->synchronization_issue());
}

TEST(Problems, OfAWaitInALibraryTheFixIsNoCallOfTheUsers) {
  Analysed analysed(loop(0, 4));
  const Problem& problem = analysed.problems.found[0];
  const DriverFunction& function = *function_of(analysed.sites[problem.site]);
  EXPECT_EQ(advice_for(problem, function, "").fix, "remove the call");
  EXPECT_EQ(advice_for(problem, function, "", "", LibraryWait{"thrust::reduce"}).fix,
            "the wait is inside thrust::reduce: look for a form of it that does not wait");
  EXPECT_EQ(
      advice_for(problem, function, "", "", LibraryWait{"torch::autograd::THPVariable_cuda", true}).fix,
      "pin the memory and pass non_blocking=True: the wait is part of torch::autograd::THPVariable_cuda");
  // Inside a release there is no call of the library's to look for: the fix is that of the release.
  const Analysed release(timeline().launch().release(0x1000, lasting(40)).unnecessary().work(100));
  const Problem& freed = release.problems.found.at(0);
  const DriverFunction& free = *function_of(release.sites[freed.site]);
  EXPECT_EQ(advice_for(freed, free, "", "", LibraryWait{"thrust::reduce"}).fix,
            advice_for(freed, free, "").fix);
}

TEST(Problems, ImplicitWaitsThatCostNothingAreCountedOnly) {
  // Two frees at the end: the wait inside is needless, and gains nothing. A synchronize like that is listed
  // all the same.
  auto trace = timeline().work(1000).release(0x1000, lasting(0.5), 30).unnecessary();
  trace.release(0x2000, lasting(0.5), 30).unnecessary().sync(lasting(0.5)).unnecessary();
  Analysed analysed(trace, {}, Nanoseconds{1'000});
  ASSERT_EQ(analysed.problems.found.size(), 1u);
  EXPECT_EQ(operation_name(analysed.sites[analysed.problems.found[0].site]), "cuCtxSynchronize");
  EXPECT_EQ(analysed.problems.minor_sites, 2u);
  EXPECT_EQ(analysed.problems.minor_instances, 2u);
  std::vector<ReportNotice> notices;
  problem_notices(analysed.problems, analysed.graph, 0.1, Model::replay, notices);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(
      notices[0].text,
      "2 waits inside other calls at 2 places were unnecessary too; they are not listed, because each place "
      "waits and gains less than 0.1% of the time in which the GPU is used");
}

TEST(Problems, ImplicitWaitThatLetsAnotherSavingThroughIsListed) {
  // As case 3 of the model's tests, with a free for B: alone it is worth 0, with A 98.
  auto trace =
      timeline().launch().sync(lasting(100)).unnecessary().work(2).release(0x1000, lasting(0)).unnecessary();
  trace.work(100).launch().sync(lasting(10)).first_use(after(0));
  Analysed analysed(trace, {}, Nanoseconds{1'000});
  EXPECT_EQ(analysed.problems.found.size(), 2u);
  EXPECT_DOUBLE_EQ(analysed.together_us(), 100);
}

TEST(Problems, EveryRuleHasAFixInWords) {
  for (size_t i = 0; i < kCatalogueSize; ++i)
    for (size_t kind = 0; kind < kProblemKinds; ++kind) {
      Problem problem;
      problem.kind = static_cast<ProblemKind>(kind);
      EXPECT_FALSE(advice_for(problem, kCatalogue[i], "").fix.empty()) << kCatalogue[i].symbol;
    }
}

}  // namespace
}  // namespace diogenes
