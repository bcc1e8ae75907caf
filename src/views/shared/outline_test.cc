#include "views/shared/outline.h"

#include <gtest/gtest.h>

#include "views/testing/sample_reports.h"

namespace diogenes {
namespace {

TEST(Outline, CallersHoldTheirProblemsAndTheRestStandAlone) {
  Report report = als_report();
  Outline list = outline(report);
  ASSERT_EQ(list.findings.size(), 3u);
  EXPECT_EQ(list.findings[0].group->id, "G4");  // the fold of all calls gains no more than they gain alone
  ASSERT_EQ(list.findings[0].problems.size(), 2u);
  EXPECT_EQ(list.findings[0].problems[0]->id, "P1");
  EXPECT_EQ(list.findings[1].problems[0]->id, "P3");
  EXPECT_EQ(list.findings[1].group, nullptr);
  EXPECT_EQ(list.findings[2].problems[0]->id, "P4");
}

TEST(Outline, AFoldThatGainsMoreThanItsPlacesComesFirst) {
  Report report = als_report();
  report.groups[0].expected_benefit_s = 0.2;  // G1: alone they gain 0.1 and 0.0625
  Outline list = outline(report);
  ASSERT_EQ(list.findings.size(), 3u);
  EXPECT_EQ(list.findings[0].group->id, "G1");
}

TEST(Outline, EveryProblemIsInOneFinding) {
  Report report = crowded_report();
  report.groups.push_back(
      {"G3", "single-point", "across the fold", 9, 9, 2, 0, {"P8", "P9"}});  // P8 is in the fold
  report.groups.push_back({"G4", "single-point", "two", 0.001, 1, 2, 0, {"P20", "P10", "P999"}});
  Outline list = outline(report);
  size_t problems = 0;
  for (auto& finding : list.findings) problems += finding.problems.size();
  EXPECT_EQ(problems, report.problems.size());
  EXPECT_EQ(list.findings.size(), 1 + 1 + 11u);
  EXPECT_EQ(list.findings.back().group->id, "G4");
  EXPECT_EQ(list.findings.back().problems[0]->id, "P10");
  ASSERT_EQ(list.sequences.size(), 1u);
}

}  // namespace
}  // namespace diogenes
