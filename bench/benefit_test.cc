#include "benefit.h"

#include <gtest/gtest.h>

namespace diogenes::bench {
namespace {

using nlohmann::json;

json problem(const char* id, int line, double benefit_s) {
  return {{"id", id},
          {"kind", "unnecessary-synchronization"},
          {"operation", "cuMemFree"},
          {"expected_benefit_s", benefit_s},
          {"where", {{"file", "als/als.cpp"}, {"line", line}}}};
}

json finding(int line) {
  return {{"kind", "unnecessary-synchronization"},
          {"operation", "cuMemFree"},
          {"file", "als/als.cpp"},
          {"line", line}};
}

const json kFindings = {finding(10), finding(20)};
const json kProblems = {problem("P1", 10, 2.0), problem("P2", 20, 1.0), problem("P3", 30, 0.5)};

TEST(Benefit, WithoutAGroupThatHasAllTheEstimateIsTheSumOfThePlantedProblems) {
  const json one = {
      {"id", "G1"}, {"grouping", "single-point"}, {"members", {"P1"}}, {"expected_benefit_s", 2.0}};
  const auto estimate = estimate_of(kFindings, {{"problems", kProblems}, {"groups", {one}}});
  EXPECT_DOUBLE_EQ(estimate.seconds, 3.0);
  EXPECT_EQ(estimate.problems, 2);
}

TEST(Benefit, TheSmallestGroupThatHasAllIsTaken) {
  const json large = {
      {"id", "G1"}, {"grouping", "sequence"}, {"members", {"P1", "P2", "P3"}}, {"expected_benefit_s", 3.1}};
  const json small = {
      {"id", "G2"}, {"grouping", "folded-function"}, {"members", {"P2", "P1"}}, {"expected_benefit_s", 2.75}};
  const auto estimate = estimate_of(kFindings, {{"problems", kProblems}, {"groups", {large, small}}});
  EXPECT_DOUBLE_EQ(estimate.seconds, 2.75);
  EXPECT_EQ(estimate.taken, "folded-function G2");
}

TEST(Benefit, NothingPlantedFoundIsAnEstimateOfNothing) {
  const json group = {
      {"id", "G1"}, {"grouping", "sequence"}, {"members", {"P3"}}, {"expected_benefit_s", 0.5}};
  const auto estimate =
      estimate_of(json::array({finding(40)}), {{"problems", kProblems}, {"groups", {group}}});
  EXPECT_EQ(estimate.problems, 0);
  EXPECT_DOUBLE_EQ(estimate.seconds, 0);
}

TEST(Benefit, MedianAndItsError) {
  EXPECT_DOUBLE_EQ(median({}), 0);
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  // deviations from 2: 1 0 1 0 2, their median 1: 1.2533 * 1.4826 * 1.206 (of five values) / sqrt(5)
  EXPECT_NEAR(median_error({1, 2, 3, 2, 4}), 1.0022, 1e-4);
  // deviations from 2: 1 0 1, their median 1: 1.2533 * 1.4826 * 1.495 / sqrt(3)
  EXPECT_NEAR(median_error({1, 2, 3}), 1.6038, 1e-4);
}

TEST(Benefit, AccuracyIsSmallerByLarger) {
  EXPECT_DOUBLE_EQ(accuracy(2, 4), 0.5);
  EXPECT_DOUBLE_EQ(accuracy(4, 2), 0.5);
  EXPECT_DOUBLE_EQ(accuracy(-1, 2), 0);
  EXPECT_DOUBLE_EQ(accuracy(0, 0), 1);
}

TEST(Agreement, ByFivePercentOrTwoStandardErrors) {
  EXPECT_EQ(agreement(100, 0, 95.1, 0, 0), Agreement::agree);
  EXPECT_EQ(agreement(100, 0, 94.9, 0, 0), Agreement::differ);
  EXPECT_EQ(agreement(100, 3, 90.1, 4, 0), Agreement::agree);  // two standard errors: 10
  EXPECT_EQ(agreement(100, 0, 90, 0, 6), Agreement::within_cost_of_correcting);
  EXPECT_EQ(agreement(100, 0, 106, 0, 6), Agreement::differ);  // which hides no loss
  EXPECT_EQ(agreement(0, 0, 0, 0, 0), Agreement::agree);
}

}  // namespace
}  // namespace diogenes::bench
