#include "views/text/comparison.h"

#include <gtest/gtest.h>

#include "views/testing/sample_reports.h"

namespace diogenes {
namespace {

using State = ComparedProblem::State;

Report keyed() {
  Report report = als_report();
  for (ReportProblem& problem : report.problems) problem.source_key = problem.key;
  return report;
}

TEST(Comparison, WhatIsGoneBetterAndNew) {
  Report old = keyed(), now = keyed();
  now.problems.erase(now.problems.begin());     // P1, 100 ms: gone
  now.problems[0].expected_benefit_s = 0.02;    // P3, 88 ms before
  now.problems[1].expected_benefit_s = 0.0626;  // P2, 62.5 ms before
  now.problems[2].source_key = "another";       // P4, 20 ms, is gone, and another one came
  now.runtime_s = 1.15;
  Comparison found = compare(old, now);
  ASSERT_EQ(found.problems.size(), 5u);
  EXPECT_EQ(found.problems[0].state, State::gone);
  EXPECT_EQ(found.problems[0].before->id, "P1");
  EXPECT_EQ(found.problems[1].state, State::gone);
  EXPECT_EQ(found.problems[2].state, State::fresh);
  EXPECT_EQ(found.problems[3].state, State::better);
  EXPECT_EQ(found.problems[4].state, State::same);
  EXPECT_NEAR(found.faster_s, 0.1, 1e-12);
  EXPECT_NEAR(found.gone_s, 0.12, 1e-12);
  EXPECT_FALSE(found.gone_together);
}

TEST(Comparison, AllGoneIsTheEstimateOfAllTogether) {
  Report old = keyed(), now = keyed();
  now.problems.clear();
  now.runtime_s = 0.99;
  Comparison found = compare(old, now);
  EXPECT_TRUE(found.gone_together);
  EXPECT_DOUBLE_EQ(found.gone_s, 0.27);
  const std::string text = comparison_text(old, now, {.working_folder = "/home/me/als"});
  EXPECT_EQ(text.find("als: run time 1.25 s before, 990 ms now: 260 ms (20.8%) faster, in one run each\n"),
            0u)
      << text;
  EXPECT_NE(text.find("What is gone was expected to save 270 ms [265 ms to 275 ms].\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("gone        100 ms         -   cudaFree: needless wait"), std::string::npos) << text;
}

TEST(Comparison, WhatIsNotCompleteIsSaid) {
  Report old = keyed(), now = keyed();
  now.incomplete = {"tracing: the run was interrupted"};
  EXPECT_NE(comparison_text(old, now, {}).find("Not complete (now): tracing: the run was interrupted."),
            std::string::npos);
  now.notices.push_back({"model-mismatch", "the model is wrong by 3.0%"});
  EXPECT_NE(comparison_text(old, now, {}).find("\nNow: the model is wrong by 3.0%.\n"), std::string::npos);
  EXPECT_NE(comparison_text(empty_report(), empty_report(), {}).find("No problem before, and none now."),
            std::string::npos);
}

TEST(Comparison, WhatWasProvedIsBesideExpectedAndGained) {
  Report before = proved_report(), now = als_report();
  for (Report* report : {&before, &now})
    for (ReportProblem& problem : report->problems) problem.source_key = problem.key;
  now.problems.erase(now.problems.begin());  // P1
  now.runtime_s = 1.15;
  std::string text = comparison_text(before, now, {.working_folder = "/home/me/als"});
  EXPECT_NE(
      text.find(
          "What is gone was expected to save 100 ms (the sum of each alone; together it may be less or more);\n"
          "proved: 95.0 ms +- 5.00 ms.\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("gone        100 ms  95.0 ms +- 5.00 ms         -   cudaFree: needless wait"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("same       88.0 ms                   -   88.0 ms   thrust::copy"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Before: Withdrawn: P5"), std::string::npos) << text;
  // All of what was proved together, and nothing else, is gone.
  now.problems.clear();
  before.problems.erase(before.problems.begin() + 1);  // the transfer
  before.proof->together->up_to = false;
  before.proof->withdrawn.clear();
  text = comparison_text(before, now, {.working_folder = "/home/me/als"});
  EXPECT_NE(text.find("proved: 160 ms +- 6.00 ms."), std::string::npos) << text;
  before.proof->findings = 2;
  EXPECT_EQ(comparison_text(before, now, {}).find("; proved: "), std::string::npos);
}

}  // namespace
}  // namespace diogenes
