#include "views/text/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "views/testing/sample_reports.h"
#include "views/text/problem_text.h"

namespace diogenes {
namespace {

// Golden outputs: testdata/NN-name.txt. After a wanted change: DIOGENES_UPDATE_GOLDEN=1 views_test, and read
// the diff.
void expect_golden(const std::string& name, const std::string& text) {
  std::string path = std::string(DIOGENES_VIEWS_TESTDATA) + "/" + name;
  if (getenv("DIOGENES_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << text;
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  std::stringstream expected;
  expected << in.rdbuf();
  EXPECT_EQ(text, expected.str()) << path;
}

TextOptions options() {
  TextOptions result;
  result.working_folder = "/home/me/als";
  result.session = "als.1.diogenes";
  return result;
}

TEST(Text, NothingFound) { expect_golden("01-nothing-found.txt", to_text(empty_report(), options())); }
TEST(Text, Findings) { expect_golden("02-findings.txt", to_text(als_report(), options())); }
TEST(Text, WithoutNamesAndKilled) { expect_golden("03-bare.txt", to_text(bare_report(), options())); }
TEST(Text, KindsOfTransfers) { expect_golden("06-transfers.txt", to_text(transfers_report(), options())); }
TEST(Text, ShortByDefault) { expect_golden("04-crowded.txt", to_text(crowded_report(), options())); }

TEST(Text, Everything) {
  TextOptions all = options();
  all.details = "all";
  expect_golden("07-everything.txt", to_text(als_report(), all));
}

TEST(Text, Proved) { expect_golden("08-proved.txt", to_text(proved_report(), options())); }

TEST(Text, ProvedInFull) {
  TextOptions all = options();
  all.details = "all";
  expect_golden("09-proved-in-full.txt", to_text(proved_report(), all));
}

TEST(Text, NarrowTerminal) {
  TextOptions narrow = options();
  narrow.width = 72;
  expect_golden("05-narrow.txt", to_text(als_report(), narrow));
}

TEST(Text, ColoursOnlyWhereAskedFor) {
  TextOptions colored = options();
  EXPECT_EQ(to_text(als_report(), colored).find('\x1b'), std::string::npos);
  colored.color = true;
  std::string text = to_text(als_report(), colored), plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (text[i] != 'm') ++i;
      continue;
    }
    plain += text[i];
  }
  EXPECT_NE(text, plain);
  EXPECT_EQ(plain, to_text(als_report(), options()));  // nothing moves
}

TEST(Text, TopLimitsFindingsAndZeroShowsAll) {
  TextOptions some = options();
  some.top = 2;
  std::string text = to_text(crowded_report(), some);
  EXPECT_NE(text.find("12 more findings"), std::string::npos);
  EXPECT_NE(text.find("Next: diogenes report als.1.diogenes --top 14\n"), std::string::npos);
  some.top = 0;
  text = to_text(crowded_report(), some);
  EXPECT_EQ(text.find("more finding"), std::string::npos);
  for (int i = 9; i <= 21; ++i)
    EXPECT_NE(text.find("cfd::f" + std::to_string(i) + " "), std::string::npos) << i;
}

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Text, HasFortyFiveLinesUnlessMoreIsAskedFor) {
  for (int width : {72, 80, 120})
    for (const Report& report : {empty_report(), als_report(), bare_report(), crowded_report(),
                                 transfers_report(), proved_report()}) {
      TextOptions narrow = options();
      narrow.width = width;
      // What was proved comes on top, and the first finding's details stay.
      EXPECT_LE(lines_of(to_text(report, narrow)), report.proof ? 56u : 45u) << to_text(report, narrow);
    }
  TextOptions all = options();
  all.details = "all";
  EXPECT_GT(lines_of(to_text(crowded_report(), all)), 100u);
}

TEST(Text, NothingGoodIsSaidOfWhatWasNotMeasured) {
  Report report = empty_report();
  report.incomplete = {"memory-tracing: the run was interrupted"};
  const std::string text = to_text(report, options());
  EXPECT_NE(text.find("nothing can be said yet; 3 runs, not complete"), std::string::npos) << text;
  EXPECT_NE(text.find("  - memory-tracing: the run was interrupted\n"), std::string::npos);
  EXPECT_EQ(text.find("was found"), std::string::npos);
  EXPECT_TRUE(text.ends_with("Next: diogenes run --resume als.1.diogenes\n"));
}

TEST(Text, DetailsOfOne) {
  TextOptions one = options();
  for (const char* id : {"P1", "G1", "R1"}) {
    one.details = id;
    EXPECT_TRUE(has_id(als_report(), id));
    const std::string text = to_text(als_report(), one);
    EXPECT_NE(text.find(std::string("  ") + id + "\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" why "), std::string::npos) << text;
  }
  EXPECT_FALSE(has_id(als_report(), "P99"));
}

TEST(Text, ByKind) {
  TextOptions transfers = options();
  transfers.kind = "duplicate-transfer";
  const std::string text = to_text(als_report(), transfers);
  EXPECT_NE(text.find("thrust::copy: data was there"), std::string::npos);
  EXPECT_EQ(text.find("needless wait"), std::string::npos);
  // The headline is that of the session.
  EXPECT_NE(text.find("270 ms of 1.25 s (21.6%) can be saved at 3 places"), std::string::npos);
  transfers.kind = "no-such-kind";
  const std::string none = to_text(als_report(), transfers);
  EXPECT_NE(none.find("can be saved at 3 places"), std::string::npos);
  EXPECT_NE(none.find("No finding is of the kind no-such-kind.\n"), std::string::npos);
}

TEST(Text, ByRank) {
  Report report = als_report();
  report.processes = {{0, 100, "a", "/bin/als"}, {1, 101, "b", "/bin/als"}};
  const auto in_main = [](uint32_t process, uint64_t count) {
    return ReportOccurrence{process, count, 1, {{0, true, count}}};
  };
  for (ReportProblem& problem : report.problems) {
    problem.occurrences = {in_main(0, problem.count)};
    if (problem.kind == "duplicate-transfer") problem.occurrences = {in_main(0, 490), in_main(1, 9)};
  }
  report.required[0].occurrences = {in_main(0, 499)};
  TextOptions second = options();
  second.processes.rank = 1;
  const std::string text = to_text(report, second);
  EXPECT_NE(text.find("Below is only what occurs in rank 1; what it saves is for the whole program.\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("src/als.cc:190 in als::iterate"), std::string::npos) << text;
  EXPECT_NE(text.find("         9\n"), std::string::npos) << "its own calls\n" << text;
  EXPECT_EQ(text.find("cudaFree: needless wait  "), std::string::npos) << text;
  EXPECT_EQ(text.find("Needed waits"), std::string::npos) << text;
  second.details = "all";
  EXPECT_NE(to_text(report, second).find("in       rank 0: 490 times, rank 1: 9 times\n"), std::string::npos);
  second.processes = {.rank = std::nullopt, .pid = 7};
  EXPECT_NE(to_text(report, second).find("No finding occurs there.\n"), std::string::npos);
}

TEST(Text, ARangeHasItsReasonWhereAllIsSaid) {
  Report report = als_report();
  report.problems.at(1).range = ReportRange{.low_s = 0.0801, .high_s = 0.0902, .reason = "why"};
  TextOptions one = options();
  one.details = "P3";
  EXPECT_NE(to_text(report, one).find("range    80.1 ms to 90.2 ms: why\n"), std::string::npos)
      << to_text(report, one);
}

// 300 characters with the call behind 200 others: the line's number and the call are seen, whatever the width.
TEST(Text, ASourceLineIsCutAroundTheCall) {
  Report report = als_report();
  ReportProblem& problem = report.problems.at(1);
  problem.source = {190,
                    {"long begins" + std::string(189, '.') + "cudaMemcpy(to, from);" + std::string(79, '.')}};
  problem.where->line = 190;
  problem.where->column = 201;
  for (int width : {40, 72, 100}) {
    TextOptions one = options();
    one.details = problem.id;
    one.width = width;
    const std::string text = to_text(report, one);
    EXPECT_NE(text.find(">   190 | ..."), std::string::npos) << text;
    EXPECT_NE(text.find("cudaMemcpy(to"), std::string::npos) << text;
    problem.where->column = 0;  // not known: from the beginning on
    EXPECT_EQ(to_text(report, one).find("cudaMemcpy(to"), std::string::npos);
    problem.where->column = 201;
  }
}

TEST(Text, ANeededWaitSaysTheRangeOfWhatItCosts) {
  Report report = als_report();
  EXPECT_EQ(to_text(report, options()).find("range 170 ms"), std::string::npos);  // not a wide one
  report.required.at(0).range->reason = "why";
  EXPECT_NE(to_text(report, options()).find("; range 170 ms to 200 ms"), std::string::npos);
  TextOptions one = options();
  one.details = "R1";
  EXPECT_NE(to_text(report, one).find("range    170 ms to 200 ms: why\n"), std::string::npos)
      << to_text(report, one);
}

// A row has room for the name alone; who fixes all that is listed must read it all the same.
TEST(Text, SaysBelowTheTableWhatIsNotToBeCombined) {
  Report report = als_report();
  const std::string text = "do not combine this with the other findings";
  EXPECT_EQ(to_text(report, options()).find(text), std::string::npos);
  for (ReportProblem& problem : report.problems)
    if (problem.kind == "misplaced-synchronization") problem.conditions.push_back({"not-together", text});
  TextOptions narrow = options();
  narrow.width = 80;
  EXPECT_NE(to_text(report, narrow).find("\n    3: " + text + ".\n"), std::string::npos)
      << to_text(report, narrow);
}

TEST(Text, SaysThatKernelsAreOfTheWholeRun) {
  Report report = profiled_report();
  report.judged = true;
  EXPECT_EQ(to_text(report, options()).find("Of the whole run"), std::string::npos);
  report.part = ReportPart{"NVTX range solve", 1, 0.5};
  EXPECT_NE(to_text(report, options()).find("\nOf the whole run, not only of the part"), std::string::npos)
      << to_text(report, options());
}

TEST(Text, NoLineIsWiderThanTheTerminal) {
  for (int width : {72, 80, 100, 160}) {
    for (const char* details : {"", "all"})
      for (const Report& report : {empty_report(), als_report(), bare_report(), crowded_report(),
                                   transfers_report(), proved_report(), profiled_report()}) {
        TextOptions wide = options();
        wide.width = width;
        wide.details = details;
        std::istringstream lines(to_text(report, wide));
        std::string line;
        while (std::getline(lines, line)) {
          bool table = line.find("  cu") == 2 || line.find("function ") != std::string::npos;
          bool command = line.find(": diogenes ") != std::string::npos;
          EXPECT_TRUE(table || command || line.size() <= static_cast<size_t>(width)) << line;
          EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
        }
      }
  }
}

TEST(Text, LastLineSaysWhatToTypeNext) {
  TextOptions spaced = options();
  spaced.session = "my app.1.diogenes";
  EXPECT_TRUE(
      to_text(als_report(), spaced).ends_with("\nNext: diogenes report 'my app.1.diogenes' --details all\n"));
  spaced.details = "all";
  EXPECT_TRUE(to_text(als_report(), spaced)
                  .ends_with("\nNext: diogenes export 'my app.1.diogenes' --format html -o report.html\n"));
  spaced = {};
  EXPECT_TRUE(
      to_text(empty_report(), spaced).ends_with("\nNext: diogenes export --format html -o report.html\n"));
}

TEST(Text, NothingMeasured) {
  Report report;
  report.command = {"true"};
  EXPECT_NE(to_text(report, options()).find("true: nothing to measure"), std::string::npos);
}

TEST(Text, FindingsInAnotherOrder) {
  TextOptions other = options();
  other.order = Order::bytes;
  const std::string text = to_text(als_report(), other);
  EXPECT_LT(text.find("thrust::copy"), text.find("cudaFree"));  // only copies have bytes
  EXPECT_NE(text.find("   bytes\n"), std::string::npos);
}

TEST(Text, OtherReasonsOfAFindingAreSaid) {
  Report report = als_report();
  ASSERT_EQ(report.groups[0].members.size(), 2u);
  ReportProblem &first = report.problems[0], &second = report.problems[2];
  ASSERT_EQ(second.id, "P2");
  second.fix = first.fix;
  second.why = "480 of 500: " + first.why;  // figures may differ
  first.why = "500 of 500: " + first.why;
  second.kind = first.kind;
  EXPECT_EQ(to_text(report, options()).find("other reasons"), std::string::npos);
  second.kind = "misplaced-synchronization";
  const std::string text = to_text(report, options());
  EXPECT_NE(text.find("1 of the 2 problems here has other reasons (early wait): see the details of G"),
            std::string::npos)
      << text;
}

TEST(Text, WhatAFindingRestsOnIsSaidWhicheverOfItsProblemsDoes) {
  for (const size_t which : {0, 2}) {  // both of one finding
    Report report = als_report();
    auto& conditions = report.problems[which].conditions;
    conditions.insert(conditions.begin(), {"kernel-arguments", "true as long as nobody finds the address"});
    const std::string text = to_text(report, options());
    EXPECT_NE(text.find("true as long as nobody finds the address"), std::string::npos) << text;
  }
}

TEST(Text, FilesFarAwayAreNamedShortly) {
  TextOptions elsewhere = options();
  elsewhere.working_folder = "/scratch/run/7/jobs";
  const std::string text = to_text(als_report(), elsewhere);
  EXPECT_NE(text.find("Files are in /home/me/als/src."), std::string::npos);
  EXPECT_NE(text.find(" als.cc:88 in "), std::string::npos) << text;
}

TEST(Text, OfAValueItSaysHowManyWereFollowed) {
  ReportValue value{.followed = 9, .instances = 16'153};
  value.uses = {{"decides-a-branch", 1}};
  EXPECT_EQ(value_text(value, ""), "decides a branch (1 of 9 values that were followed)");
  value.uses[0].count = 9;
  EXPECT_EQ(value_text(value, ""), "decides a branch (all 9 values that were followed)");
  value.followed = value.uses[0].count = 1;
  EXPECT_EQ(value_text(value, ""), "decides a branch (the one value that was followed)");
}

}  // namespace
}  // namespace diogenes
