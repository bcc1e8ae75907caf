// Reports of no finding, of one, and of 5,000, with names of 4,000 characters, in every view.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "views/explorer/explorer.h"
#include "views/exports/exports.h"
#include "views/html/html.h"
#include "views/testing/sample_reports.h"
#include "views/testing/widest.h"
#include "views/text/text.h"

namespace diogenes {
namespace {

constexpr size_t kMany = 5'000, kLong = 4'000;

// Alike but for their lines: each is a finding of its own.
Report report_of(size_t findings, const std::string& name) {
  Report report = als_report();
  const ReportProblem one = report.problems[0];
  report.problems.clear();
  report.groups.clear();
  report.required.resize(1);
  if (!name.empty()) report.required[0].api = report.required[0].via = name;
  for (size_t i = 0; i < findings; ++i) {
    ReportProblem& problem = report.problems.emplace_back(one);
    problem.id = "P" + std::to_string(i + 1);
    problem.key = "key" + std::to_string(i);
    problem.expected_benefit_s = 0.1 / static_cast<double>(i + 1);
    problem.where->line = static_cast<int>(i + 1);
    if (name.empty()) continue;
    problem.where->function = problem.api = name;
    for (ReportFrame& frame : problem.stack) frame.function = name;
  }
  return report;
}

std::string long_name() {
  std::string name = "app::solve<";
  while (name.size() < kLong - 20) name += "std::tuple<int, \"<script>\">, ";
  return name + "4>(int)";
}

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

class Extremes : public testing::TestWithParam<size_t> {};

TEST_P(Extremes, TextFitsTheScreen) {
  const Report report = report_of(GetParam(), long_name());
  for (const int width : {72, 100}) {
    TextOptions options;
    options.width = width;
    const std::string text = to_text(report, options);
    EXPECT_LE(widest(text), static_cast<size_t>(width)) << text;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 70) << text;
    EXPECT_EQ(text.find("more") != std::string::npos && text.find("4,99") != std::string::npos,
              GetParam() == kMany)
        << text;
  }
}

TEST_P(Extremes, EachFindingIsInTheExports) {
  const Report report = report_of(GetParam(), "");
  const std::string last = std::to_string(GetParam());
  const std::string exported = to_json(report), sarif = to_sarif(report, {});
  EXPECT_EQ(count_of(exported, "\"key\": \"key"), GetParam());
  EXPECT_EQ(count_of(sarif, "\"ruleId\""), GetParam());
  const std::string csv = to_csv(report);
  EXPECT_GE(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), GetParam() + 1);
  const std::string page = to_html(report, {});
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_EQ(page.find("id=\"f" + last + "\"") != std::string::npos, GetParam() > 0);
  // A comment to a pull request has room for 65,536 characters.
  EXPECT_LE(to_markdown(report, {}).size(), 65'536u);
}

TEST_P(Extremes, LongNamesAreEscapedAndKeepTheirPlace) {
  const Report report = report_of(std::min<size_t>(GetParam(), 20), long_name());
  const std::string page = to_html(report, {});
  EXPECT_EQ(page.find("<script>\">"), std::string::npos);
  EXPECT_LE(to_markdown(report, {}).size(), 65'536u);
  EXPECT_TRUE(nlohmann::json::accept(to_json(report)));
  EXPECT_TRUE(nlohmann::json::accept(to_sarif(report, {})));
}

TEST_P(Extremes, TheExplorerGoesToTheLastOne) {
  const Report report = report_of(GetParam(), long_name());
  explorer::Explorer explorer(report, "/home/me/als");
  for (const size_t columns : {40, 100}) {
    explorer.resize({columns, 24});
    for (const explorer::Key key : {explorer::Key::end, explorer::Key::enter, explorer::Key::escape}) {
      explorer.press({key});
      const explorer::Screen screen = explorer.screen();
      EXPECT_EQ(screen.lines.size(), 24u);
      for (const explorer::Line& line : screen.lines) EXPECT_LE(line.text().size(), columns);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Findings, Extremes, testing::Values(size_t{0}, size_t{1}, kMany));

}  // namespace
}  // namespace diogenes
