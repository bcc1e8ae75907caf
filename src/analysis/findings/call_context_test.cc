// What findings say because it was seen around a call, each by hand.
#include "analysis/findings/call_context.h"

#include <gtest/gtest.h>

#include "analysis/findings/fixes.h"
#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

struct Said {
  explicit Said(const Timeline& trace) : analysed(trace) {}
  std::vector<ReportCondition> conditions() const {
    if (analysed.problems.found.empty()) return {{"", "nothing was found"}};
    const Problem& problem = analysed.problems.found[0];
    return advice_for(problem, *function_of(analysed.sites[problem.site]), "").conditions;
  }
  bool says(const std::string& words) const {
    for (const ReportCondition& condition : conditions())
      if (condition.text.find(words) == 0) return true;
    return false;
  }
  Analysed analysed;
};

TEST(Conditions, ErrorsOfEarlierLaunchesSurfaceAtTheFirstWaitBehindThem) {
  auto trace = timeline();
  trace.launch(1).sync(lasting(5)).from(0x100).unnecessary().sync(lasting(0)).from(0x200).needed(kOrder);
  trace.sync(lasting(1)).from(0x100).unnecessary().work(10);
  Said said(trace);
  EXPECT_TRUE(said.says("in 1 of 2 cases, kernel errors will show at a later call"));
}

TEST(Conditions, NoLaunchesNoErrors) {
  Said said(timeline().sync(lasting(5)).unnecessary().work(10));
  for (const auto& condition : said.conditions()) EXPECT_NE(condition.code, "errors-surface");
}

TEST(Conditions, ATimerByEvents) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i)
    trace.launch(1)
        .sync(lasting(5))
        .from(0x100)
        .unnecessary()
        .call("cuEventElapsedTime_v2", lasting(0))
        .without_wait();
  Said said(trace.work(10));
  EXPECT_TRUE(said.says("cuEventElapsedTime follows"));
  auto another = timeline().launch(1).sync(lasting(5)).unnecessary().launch(1);
  another.call("cuEventElapsedTime_v2", lasting(0)).without_wait().work(10);
  EXPECT_FALSE(Said(another).says("cuEventElapsedTime follows"));
}

TEST(Conditions, ReleasedUnderACopy) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    trace.launch(1).release(0x1000, lasting(5)).from(0x100).unnecessary();
    if (i < 2) trace.conditions(kConditionInUse);
    trace.work(10);
  }
  EXPECT_TRUE(
      Said(trace).says("in 2 of 3 cases, an asynchronous copy that nothing had waited for still used"));
}

TEST(Conditions, PrintsOfKernels) {
  auto trace = timeline().launch(1).sync(lasting(5)).from(0x100).unnecessary().conditions(kConditionPrints);
  trace.launch(1).sync(lasting(5)).from(0x100).unnecessary().work(10);
  EXPECT_TRUE(Said(trace).says("in 1 of 2 cases, the output of kernels (printf) appears at this call"));
}

// Whether one is read is not seen.
TEST(Conditions, AnyTimerShowsLess) {
  const std::string words =
      "a timer that is read after this call will show less: the GPU may not be done by then";
  EXPECT_TRUE(Said(timeline().launch(1).sync(lasting(5)).unnecessary().work(10)).says(words));
  EXPECT_TRUE(Said(timeline().launch(1).sync(lasting(30)).first_use(after(20)).work(50)).says(words));
}

// 600 launches between waits of one site: without them 1,200 and more in a row. A needed wait in between ends
// the row.
TEST(Conditions, TheLaunchQueue) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 600; ++k) trace.launch(0.1);
    trace.sync(lasting(5)).from(0x100).unnecessary();
  }
  Said said(trace.work(10));
  EXPECT_TRUE(said.says("it throttles the launch queue: without it, up to 1,200 launches follow each other"));
  auto broken = timeline();
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 300; ++k) broken.launch(0.1);
    broken.sync(lasting(5)).from(0x100).unnecessary();
    broken.sync(lasting(5)).from(0x200).needed(kCpuAccess);
  }
  EXPECT_FALSE(Said(broken.work(10)).says("it throttles"));
}

TEST(Conditions, KernelsReachMemoryThroughTheirArguments) {
  auto trace =
      timeline().launch(1).sync(lasting(5)).from(0x100).unnecessary().conditions(kConditionArguments);
  trace.launch(1).sync(lasting(5)).from(0x100).unnecessary().work(10);
  EXPECT_TRUE(Said(trace).says("in 1 of 2 cases, make sure that kernels reach"));
}

}  // namespace
}  // namespace diogenes
