#include "analysis/findings/repeats.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

ReportProblem problem(const char* id, const char* key, double benefit_s) {
  ReportProblem made;
  made.id = id;
  made.key = key;
  made.expected_benefit_s = benefit_s;
  made.range = ReportRange{benefit_s - 0.01, benefit_s + 0.01, "", benefit_s / 2, benefit_s};
  return made;
}

ReportGroup group(const char* id, std::vector<std::string> members, double benefit_s) {
  ReportGroup made;
  made.id = id;
  made.grouping = "single-point";
  made.title = "als.cpp:20";
  made.members = std::move(members);
  made.expected_benefit_s = benefit_s;
  made.range = ReportRange{benefit_s, benefit_s, "", benefit_s, benefit_s};
  return made;
}

Report report(std::vector<ReportProblem> problems) {
  Report made;
  made.runtime_s = 10;
  made.problems = std::move(problems);
  return made;
}

TEST(Repeats, FiguresAreMediansAndRangesHoldEveryRuns) {
  Report first = report({problem("P1", "a", 1.0)});
  first.together = ReportTogether{1.0, 10, {1.0, 1.0, "", 1.0, 1.0}};
  Report second = report({problem("P1", "a", 1.6)}), third = report({problem("P1", "a", 1.2)});
  second.together = ReportTogether{1.6, 16, {1.5, 1.7, "", 1.6, 1.6}};
  third.together = ReportTogether{1.2, 12, {1.2, 1.2, "", 1.2, 1.2}};
  unite_repeats(first, {second, third});
  const ReportProblem& found = first.problems[0];
  EXPECT_DOUBLE_EQ(found.expected_benefit_s, 1.2);
  EXPECT_DOUBLE_EQ(found.expected_benefit_percent, 12);
  EXPECT_DOUBLE_EQ(found.range->low_s, 0.99);
  EXPECT_DOUBLE_EQ(found.range->high_s, 1.61);
  EXPECT_DOUBLE_EQ(found.range->paper_s, 0.6);
  EXPECT_DOUBLE_EQ(found.range->replay_s, 1.2);
  EXPECT_EQ(found.range->reason, "the runs differ from each other (--repeat)");
  EXPECT_DOUBLE_EQ(first.together->expected_benefit_s, 1.2);
  EXPECT_DOUBLE_EQ(first.together->range.high_s, 1.7);
}

ReportRequired required(const char* id, const char* key, double up_to_s) {
  ReportRequired made;
  made.id = id;
  made.key = key;
  made.up_to_s = up_to_s;
  made.range = ReportRange{up_to_s - 0.01, up_to_s + 0.01};
  return made;
}

TEST(Repeats, NeededWaitsToo) {
  Report first = report({}), second = report({}), third = report({});
  first.required = {required("R1", "a", 1.0), required("R2", "b", 0.9), required("R3", "c", 0.8)};
  second.required = {required("R1", "b", 1.5), required("R2", "a", 0.7)};
  third.required = {required("R1", "b", 1.4), required("R2", "a", 0.6), required("R3", "c", 0.5)};
  first.required.push_back(required("R4", "d", 0.3));  // the others do not show it
  unite_repeats(first, {second, third});
  ASSERT_EQ(first.required.size(), 3u);
  EXPECT_EQ(first.required[0].key, "b");
  EXPECT_EQ(first.required[0].id, "R1");
  EXPECT_DOUBLE_EQ(first.required[0].up_to_s, 1.4);
  EXPECT_DOUBLE_EQ(first.required[0].up_to_percent, 14);
  EXPECT_DOUBLE_EQ(first.required[0].range->low_s, 0.89);
  EXPECT_DOUBLE_EQ(first.required[0].range->high_s, 1.51);
  EXPECT_EQ(first.required[0].range->reason, "the runs differ from each other (--repeat)");
  EXPECT_DOUBLE_EQ(first.required[1].up_to_s, 0.7);
  EXPECT_DOUBLE_EQ(first.required[2].up_to_s, 0.5);  // the second run does not show it
  EXPECT_DOUBLE_EQ(first.required[2].range->low_s, 0);
}

TEST(Repeats, WhatTheMainLoopGainsIsAMedianToo) {
  std::vector<Report> reports(4);
  for (int i = 0; i < 3; ++i) reports[i].main_loop = {100, 4, 0.1 * (i + 1)};
  Report first = reports[2];
  unite_repeats(first, {reports[0], reports[1], reports[3]});  // the last one has no loop
  EXPECT_DOUBLE_EQ(first.main_loop->expected_benefit_s, 0.2);
}

TEST(Repeats, RunsThatAgreeGiveNoReason) {
  Report first = report({problem("P1", "a", 1.0)});
  unite_repeats(first, {report({problem("P1", "a", 1.01)})});
  EXPECT_DOUBLE_EQ(first.problems[0].expected_benefit_s, 1.005);
  EXPECT_EQ(first.problems[0].range->reason, "");
}

TEST(Repeats, ARunThatDoesNotShowAProblemGainsNothingThere) {
  Report first = report({problem("P1", "a", 1.0)});
  unite_repeats(first, {report({}), report({problem("P1", "b", 3.0)})});
  EXPECT_DOUBLE_EQ(first.problems[0].expected_benefit_s, 0);
  EXPECT_DOUBLE_EQ(first.problems[0].range->low_s, 0);
  EXPECT_DOUBLE_EQ(first.problems[0].range->high_s, 1.01);
}

TEST(Repeats, ProblemsAreFoundByKeyAndPutInOrder) {
  // The second run shows them the other way round, and by more; its groups are the first run's.
  Report first = report({problem("P1", "a", 1.0), problem("P2", "b", 0.9)});
  first.groups = {group("G1", {"P1"}, 1.0), group("G2", {"P2"}, 0.9)};
  Report second = report({problem("P1", "b", 1.5), problem("P2", "a", 0.2)});
  second.groups = {group("G1", {}, 0.2), group("G2", {}, 1.5)};
  unite_repeats(first, {second});
  ASSERT_EQ(first.problems.size(), 2u);
  EXPECT_EQ(first.problems[0].id, "P1");
  EXPECT_EQ(first.problems[0].key, "b");
  EXPECT_DOUBLE_EQ(first.problems[0].expected_benefit_s, 1.2);
  EXPECT_DOUBLE_EQ(first.problems[1].expected_benefit_s, 0.6);
  EXPECT_EQ(first.groups[0].id, "G1");
  EXPECT_DOUBLE_EQ(first.groups[0].expected_benefit_s, 1.2);
  EXPECT_EQ(first.groups[0].members, std::vector<std::string>{"P1"});
  EXPECT_EQ(first.groups[1].members, std::vector<std::string>{"P2"});
}

TEST(Repeats, OneRunIsAsItWas) {
  Report first = report({problem("P2", "a", 1.0), problem("P1", "b", 2.0)});
  unite_repeats(first, {});
  EXPECT_EQ(first.problems[0].id, "P2");
}

}  // namespace
}  // namespace diogenes
