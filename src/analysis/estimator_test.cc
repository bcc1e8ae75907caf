#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

const ReportGroup& sequence_of(const Report& report) {
  for (const ReportGroup& group : report.groups)
    if (group.grouping == "sequence") return group;
  throw std::runtime_error("no sequence");
}

void expect_same(const ReportTogether& figure, const ReportGroup& group) {
  EXPECT_DOUBLE_EQ(figure.expected_benefit_s, group.expected_benefit_s) << group.id;
  EXPECT_DOUBLE_EQ(figure.expected_benefit_percent, group.expected_benefit_percent);
  EXPECT_DOUBLE_EQ(figure.range.low_s, group.range->low_s);
  EXPECT_DOUBLE_EQ(figure.range.high_s, group.range->high_s);
  EXPECT_EQ(figure.range.reason, group.range->reason);
}

TEST(Estimator, TheMembersOfAGroupGainWhatTheGroupGains) {
  for (const Model model : {Model::replay, Model::paper}) {
    TemporaryFolder folder;
    write_session(folder.path(), four_in_a_row(300), {.launches_traced = true}, 70'000);
    auto estimator = Estimator::make(folder.path(), {.model = model, .judge = verdicts_by_hand});
    ASSERT_TRUE(estimator.ok()) << estimator.error().c_str();
    const Report& report = estimator->report();
    ASSERT_EQ(sequence_of(report).members.size(), 4u);
    for (const ReportGroup& group : report.groups) {
      auto figure = estimator->together(group.members);
      ASSERT_TRUE(figure.ok());
      expect_same(*figure, group);
    }
  }
}

TEST(Estimator, APartOfASequenceGainsWhatTheReportSaysOfIt) {
  TemporaryFolder folder;
  write_session(folder.path(), four_in_a_row(300), {.launches_traced = true}, 70'000);
  const AnalysisOptions options{.model = Model::paper, .judge = verdicts_by_hand};
  auto estimator = Estimator::make(folder.path(), options);
  ASSERT_TRUE(estimator.ok());
  const ReportGroup& sequence = sequence_of(estimator->report());
  const std::vector<std::string> last_two(sequence.members.begin() + 2, sequence.members.end());
  auto figure = estimator->together(last_two);
  ASSERT_TRUE(figure.ok());
  EXPECT_NEAR(figure->expected_benefit_s, 300 * 4e-6, 1e-9);
  AnalysisOptions asked = options;
  asked.parts = {{sequence.id, 3, 4}};
  auto report = analyse(folder.path(), asked);
  ASSERT_TRUE(report.ok());
  expect_same(*figure, report->groups.back());
}

TEST(Estimator, OneProblemGainsItsOwnFigure) {
  TemporaryFolder folder;
  write_session(folder.path(), four_in_a_row(300), {.launches_traced = true}, 70'000);
  auto estimator = Estimator::make(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(estimator.ok());
  for (const ReportProblem& problem : estimator->report().problems) {
    auto figure = estimator->together({problem.id});
    ASSERT_TRUE(figure.ok());
    EXPECT_DOUBLE_EQ(figure->expected_benefit_s, problem.expected_benefit_s);
  }
  EXPECT_FALSE(estimator->together({"P99"}).ok());
}

// `diogenes run --repeat 2`: the tracing run of `second` is the second one.
void write_repeated(const fs::path& folder, const Timeline& first, const Timeline& second) {
  TemporaryFolder other;
  write_session(other.path(), second, {.launches_traced = true}, 70'000);
  Session session = write_session(folder, first, {.launches_traced = true}, 70'000);
  fs::copy(other.path() / "tracing", folder / "tracing-2", fs::copy_options::recursive);
  session.runs.push_back(
      {.name = "tracing-2", .folder = "tracing-2", .state = "complete", .runtime_s = 0.07});
  ASSERT_TRUE(diogenes::write_session(folder, session).ok());
}

void expect_same_groups(const Estimator& estimator) {
  for (const ReportGroup& group : estimator.report().groups) {
    auto figure = estimator.together(group.members);
    ASSERT_TRUE(figure.ok());
    expect_same(*figure, group);
  }
}

TEST(Estimator, OfSeveralTracingRunsItIsTheMedian) {
  TemporaryFolder folder;
  write_repeated(folder.path(), four_in_a_row(300), four_in_a_row(300));
  auto estimator = Estimator::make(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(estimator.ok());
  expect_same_groups(*estimator);
}

// The second run has no B and no D, so none of its groups is one of the first run's. What fixing A and C gains there counts.
TEST(Estimator, AGroupIsJudgedInEachRunByWhatItsMembersGainThere) {
  auto two_in_a_row = timeline();
  for (int i = 0; i < 300; ++i) {
    two_in_a_row.launch(0).sync(lasting(100)).from(0x100).unnecessary().work(102);
    two_in_a_row.launch(0).sync(lasting(10)).from(0x300).unnecessary().work(4);
    two_in_a_row.sync(lasting(0)).from(0x500).needed(kOrder);
  }
  TemporaryFolder folder;
  write_repeated(folder.path(), four_in_a_row(300), two_in_a_row);
  auto estimator = Estimator::make(folder.path(), {.model = Model::paper, .judge = verdicts_by_hand});
  ASSERT_TRUE(estimator.ok());
  expect_same_groups(*estimator);
  // 100 and 4 in each run: as in all of four_in_a_row().
  const ReportGroup& sequence = sequence_of(estimator->report());
  EXPECT_EQ(sequence.members.size(), 4u);
  EXPECT_NEAR(sequence.expected_benefit_s, 300 * 104e-6, 1e-9);
}

}  // namespace
}  // namespace diogenes
