#include "views/text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "views/sample_reports.h"

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
  EXPECT_EQ(text.find("more"), std::string::npos);
  for (int i = 1; i <= 21; ++i)
    EXPECT_NE(text.find("cfd::f" + std::to_string(i) + "\n"), std::string::npos) << i;
}

TEST(Text, ARangeIsShownWhereItsEndsReadDifferently) {
  Report report = als_report();
  const auto shown = [&](double low_s, double high_s, const char* reason) {
    report.problems.at(0).range = ReportRange{.low_s = low_s, .high_s = high_s, .reason = reason};
    return to_text(report, options());
  };
  EXPECT_NE(shown(0.0871, 0.0889, "").find("range      87.1 ms to 88.9 ms\n"), std::string::npos);
  EXPECT_EQ(shown(0.08801, 0.08802, "").find("range "), std::string::npos);
  EXPECT_NE(shown(0.08801, 0.08802, "why").find("88.0 ms to 88.0 ms: why"), std::string::npos);
}

TEST(Text, NoLineIsWiderThanTheTerminal) {
  for (int width : {72, 80, 100, 160}) {
    TextOptions wide = options();
    wide.width = width;
    for (const Report& report : {empty_report(), als_report(), bare_report(), crowded_report()}) {
      std::istringstream lines(to_text(report, wide));
      std::string line;
      while (std::getline(lines, line)) {
        bool table = line.find("  cu") == 2 || line.find("function ") != std::string::npos;
        EXPECT_TRUE(table || line.size() <= static_cast<size_t>(width)) << line;
        EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
      }
    }
  }
}

TEST(Text, LastLineSaysWhatToTypeNext) {
  TextOptions spaced = options();
  spaced.session = "my app.1.diogenes";
  std::string text = to_text(als_report(), spaced);
  EXPECT_TRUE(text.ends_with("\nNext: diogenes export 'my app.1.diogenes' --format json -o report.json\n"));
  spaced.session = "";
  EXPECT_TRUE(
      to_text(empty_report(), spaced).ends_with("\nNext: diogenes export --format json -o report.json\n"));
}

TEST(Text, TheNextCommandShowsWhatThisOneCut) {
  Report report = crowded_report();
  report.problems.resize(8);  // one finding with eight problems: five of them cut
  report.groups.resize(1);
  std::string text = to_text(report, options());
  EXPECT_NE(text.find("and 5 more problems: P4"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\nNext: diogenes report als.1.diogenes --top 11\n"));
  TextOptions more = options();
  more.top = 11;
  text = to_text(report, more);
  EXPECT_EQ(text.find("more problem"), std::string::npos);
  EXPECT_NE(text.find("Next: diogenes export"), std::string::npos);
}

TEST(Text, NothingMeasured) {
  Report report;
  report.command = {"true"};
  EXPECT_NE(to_text(report, options()).find("Nothing to measure"), std::string::npos);
}

}  // namespace
}  // namespace diogenes
