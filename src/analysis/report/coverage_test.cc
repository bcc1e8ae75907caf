#include "analysis/report/coverage.h"

#include <gtest/gtest.h>

#include <set>

#include "analysis/report/notices.h"
#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

StageRun run(std::string name, std::string state = "complete") {
  StageRun result;
  result.name = std::move(name);
  result.state = std::move(state);
  return result;
}

TEST(Coverage, CountsWhatNobodyCouldWatch) {
  auto trace = timeline();
  trace.launch(1).sync(lasting(5)).from(0x100).unnecessary().work(5);
  trace.launch(1).sync(lasting(5)).from(0x200).first_use(after(1)).work(5);
  trace.launch(1).sync(lasting(5)).from(0x300).needed(kSmallRange).work(5);
  trace.launch(1).sync(lasting(5)).from(0x400).needed(kSmallRange | kExposed).work(5);
  trace.launch(1)
      .sync(lasting(5))
      .from(0x500)
      .needed(kSmallRange | kCpuAccess)
      .work(5);  // seen to be used all the same
  ReportCoverage coverage = coverage_of(Analysed(trace).tracing);
  EXPECT_EQ(coverage.synchronizations, 5u);
  EXPECT_EQ(coverage.judged, 3u);
  ASSERT_EQ(coverage.not_judged.size(), 2u);
  EXPECT_EQ(coverage.not_judged[0], (std::pair<std::string, uint64_t>("small-range", 2)));
  EXPECT_EQ(coverage.not_judged[1], (std::pair<std::string, uint64_t>("exposed", 1)));
}

TEST(Coverage, EveryReasonHasACodeOfItsOwn) {
  std::set<std::string> codes;
  for (uint32_t bit = kCpuAccess; bit <= kOverBudget; bit <<= 1) codes.insert(reason_code(bit));
  EXPECT_EQ(codes.size(), 18u);
  EXPECT_FALSE(codes.contains("unknown"));
}

TEST(WhatIsMissing, NothingInACompleteSession) {
  Session session;
  session.runs = {run("baseline"), run("tracing"), run("memory-tracing")};
  EXPECT_TRUE(what_is_missing(session, true, true, {100, 95, {}}).empty());
  for (int status : {3, 139, 255}) {  // how the program ends is its own affair
    session.runs[0].exit_status = session.runs[1].exit_status = status;
    EXPECT_TRUE(what_is_missing(session, true, true, {}).empty()) << status;
  }
}

TEST(WhatIsMissing, IsSaidOfEachRun) {
  Session session;
  session.runs = {run("baseline"), run("tracing", "interrupted")};
  session.runs[0].signal = 11;
  auto missing = what_is_missing(session, true, false, {});
  ASSERT_EQ(missing.size(), 3u);
  EXPECT_EQ(missing[0], "baseline: signal 11 killed the program");
  EXPECT_EQ(missing[1], "tracing: the run was interrupted");
  EXPECT_EQ(missing[2].find("the memory-tracing run is not there"), 0u);
}

TEST(WhatIsMissing, VerdictsOnMoreThanOneInTwenty) {
  Session session;
  EXPECT_TRUE(what_is_missing(session, true, true, {100, 95, {}}).empty());
  auto missing = what_is_missing(session, true, true, {100, 94, {}});
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0], "6 of 100 synchronizations could not be judged");
}

// A run of 2 s on 4 processors. The program alone took 1 of them; others 0, 1, 2.5, or all that it left.
TEST(Notices, AMachineIsBusyWhereNoProcessorIsLeft) {
  StageRun run{.name = "baseline", .state = "complete", .runtime_s = 2, .cpu_s = 2};
  EXPECT_FALSE(machine_was_busy(run)) << "nothing is known";
  run.processors = 4;
  EXPECT_FALSE(machine_was_busy(run));
  run.others_busy = 1;
  EXPECT_FALSE(machine_was_busy(run)) << "two are idle";
  run.others_busy = 2.5;
  EXPECT_TRUE(machine_was_busy(run));
  run.runtime_s = 0.2;
  run.cpu_s = 0.2;
  EXPECT_FALSE(machine_was_busy(run)) << "too short to tell";
  // The program's own threads keep all busy: that is no fault of the machine.
  run = {.name = "baseline",
         .state = "complete",
         .runtime_s = 2,
         .cpu_s = 7.6,
         .others_busy = 0.2,
         .processors = 4};
  EXPECT_FALSE(machine_was_busy(run));
}

TEST(Notices, ABusyMachineIsSaidOnce) {
  Session session;
  for (const char* name : {"baseline", "tracing", "memory-tracing"})
    session.runs.push_back({.name = name, .state = "complete", .runtime_s = 2, .cpu_s = 2, .processors = 2});
  std::vector<ReportNotice> notices;
  session_notices(session, notices);
  EXPECT_TRUE(notices.empty());
  session.runs[0].others_busy = 0.94;
  session.runs[2].others_busy = 1.26;
  session_notices(session, notices);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].code, "busy-machine");
  EXPECT_EQ(
      notices[0].text,
      "baseline, memory-tracing: the machine was busy: other programs used up to 1.3 of 2 processors, so times are "
      "longer; measure again on a quiet machine");
}

}  // namespace
}  // namespace diogenes
