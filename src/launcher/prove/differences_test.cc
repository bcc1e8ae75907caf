#include "launcher/prove/differences.h"

#include <gtest/gtest.h>

#include "launcher/prove/outputs.h"
#include "launcher/prove/proof_table.h"

namespace diogenes::launcher {
namespace {

TEST(PairedGain, IsTheMedianWithTwoStandardErrors) {
  EXPECT_EQ(paired_gain({}).median_s, 0);
  EXPECT_EQ(paired_gain({3}).median_s, 3);
  EXPECT_EQ(paired_gain({3}).error_s, 0);
  EXPECT_EQ(paired_gain({4, 1, 2, 3}).median_s, 2.5);
  // Mean 2, deviations -1, 0, 1: a variance of 1, by three 1/3; twice its root.
  EXPECT_NEAR(paired_gain({1, 2, 3}).error_s, 2 * 0.57735, 1e-5);
}

Proved row(double expected, double low, double high, std::vector<double> differences) {
  Proved made;
  made.correction.id = "P1";
  made.correction.title = "a wait";
  made.correction.expected_s = expected, made.correction.low_s = low, made.correction.high_s = high;
  made.differences_s = std::move(differences);
  CorrectionCounts counts{};
  counts.calls = 4, counts.deferred = 3;
  counts.undeferred[static_cast<int>(Undeferred::small)] = 1;
  made.counts.by_site[7] = counts;
  return made;
}

TEST(ProvedTable, SaysFirstWhatIsNotAsExpected) {
  const ProvedTable good{.runtime_s = 9, .whole_s = 10, .pairs = 2, .rows = {row(1.0, 0.8, 1.1, {0.9, 0.9})}};
  EXPECT_EQ(proved_text(good).find("          expected"), 0u) << proved_text(good);
  EXPECT_NE(proved_text(good).find("9.0% +- 0.0"), std::string::npos) << proved_text(good);
  EXPECT_NE(proved_text(good).find("1 call waited as before: results share a page"), std::string::npos);
  ProvedTable bad{.runtime_s = 9, .whole_s = 10, .pairs = 2, .rows = {row(1.0, 0.8, 1.1, {0.2, 0.2})}};
  EXPECT_EQ(proved_text(bad).find("P1: 10.0% was expected, but 2.0% +- 0.0 was gained."), 0u)
      << proved_text(bad);
  bad.rows[0].differences_s = {-0.2, -0.2};
  EXPECT_EQ(proved_text(bad).find("P1: 10.0% was expected, but 2.0% +- 0.0 was lost."), 0u)
      << proved_text(bad);
  bad.rows[0].differences_s = {0.2, 0.2};
  bad.rows[0].counts.by_site[7].deferred = 1;  // of four: it says little of the finding
  EXPECT_EQ(proved_text(bad).find("          expected"), 0u) << proved_text(bad);
  EXPECT_NE(proved_text(bad).find("2.0% +- 0.0"), std::string::npos) << proved_text(bad);
  bad.rows[0].counts.by_site[7].deferred = 0;
  EXPECT_NE(proved_text(bad).find("not corrected"), std::string::npos) << proved_text(bad);
  bad.rows[0].difference = "stdout differs";
  EXPECT_EQ(proved_text(bad).find("P1: the results are not the same"), 0u) << proved_text(bad);
  EXPECT_NE(proved_text(bad).find("DIFFERENT"), std::string::npos);
  bad.rows[0].counts.by_site[7].deferred = 3;
  EXPECT_EQ(proved_text(bad).find("2.0%"), std::string::npos) << proved_text(bad);  // no figure
}

TEST(ProvedTable, WhatDidNotEndIsSaidAndNotProved) {
  ProvedTable table{.runtime_s = 9, .whole_s = 10, .pairs = 1};
  table.without_end.push_back({row(1.0, 0.8, 1.1, {}).correction, 75});
  const std::string text = proved_text(table);
  EXPECT_EQ(
      text.find("P1: corrected, the program did not end within 75.0 s, and was ended; nothing is proved"), 0u)
      << text;
  EXPECT_NE(text.find("10.0%                 -                         -   it did not end\n     a wait"),
            std::string::npos)
      << text;
  const ProvedSession session = proved_session(table, 0, "");
  EXPECT_TRUE(session.corrections.empty());  // so nothing is withdrawn
  EXPECT_EQ(session.left_out.size(), 1u);
}

TEST(ProvedTable, SaysAfterTheFirstPairWhatIsMostlyNotCorrected) {
  Proved made = row(1, 1, 1, {1});
  CorrectionCounts& counts = made.counts.by_site[7];
  counts.deferred = 2;  // of four
  EXPECT_EQ(little_corrected(made.correction, made.counts), "");
  counts.deferred = 1;
  counts.undeferred[static_cast<int>(Undeferred::form)] = 2;
  EXPECT_EQ(
      little_corrected(made.correction, made.counts),
      "P1: 3 of 4 calls are not corrected; what is proved says little of it (most often: it is "
      "neither a copy of one row between the GPU's memory and the host's, nor a fill of one row of the host's)");
  EXPECT_EQ(little_corrected(made.correction, {}), "");
}

TEST(Outputs, WhatTheRunsHaveInCommonMustBeThere) {
  const std::vector<std::string> runs = {"took 1.25 s\nerrors: 0\nPASS\n", "took 12.5 s\nerrors: 0\nPASS\n"};
  EXPECT_EQ(differs_from_all(runs, "took 3.75 s\nerrors: 0\nPASS\n"), "");
  EXPECT_EQ(differs_from_all(runs, "took 3.75 s\nerrors: 1\nPASS\n"), "at line 2");
  EXPECT_EQ(differs_from_all(runs, "took 3.75 s\nerrors: 0\nFAIL\n"), "at line 3");
  EXPECT_EQ(differs_from_all(runs, "gave 3.75 s\nerrors: 0\nPASS\n"), "at line 1");
  EXPECT_EQ(differs_from_all(runs, "took 3.75 s\nerrors: 0\n"), "2 lines, not 3");
  EXPECT_EQ(differs_from_all({""}, ""), "");
  EXPECT_EQ(differs_from_all({""}, "warning\n"), "1 lines, not 0");
  EXPECT_EQ(differs_from_all({"a\n", "a\nb\n"}, "a\n"), "");
}

}  // namespace
}  // namespace diogenes::launcher
