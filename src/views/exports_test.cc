// CSV, Markdown, SARIF, trace events and folded stacks: well formed, whatever the program is called. Their schemas are
// checked with the tools themselves in tests/web.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "views/exports/exports.h"
#include "views/testing/sample_reports.h"

namespace diogenes {
namespace {

using nlohmann::json;

const Reader kReader{.folder = "/home/me/als", .session = "als.1.diogenes"};

std::vector<Report> samples() {
  return {Report{},         empty_report(),     als_report(),   bare_report(),
          crowded_report(), transfers_report(), timed_report(), proved_report()};
}

// What RFC 4180 says a reader does.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      row.push_back(std::move(field));
      field.clear();
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      row.push_back(std::move(field));
      field.clear();
      rows.push_back(std::move(row));
      row.clear();
    } else {
      field += c;
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_TRUE(row.empty() && field.empty()) << "the last row has no end";
  return rows;
}

TEST(Csv, HasARowAProblemAndAsManyFieldsAsTheHeader) {
  for (const Report& report : samples()) {
    const auto rows = read_csv(to_csv(report));
    ASSERT_EQ(rows.size(), report.problems.size() + 1);
    for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  }
}

TEST(Csv, QuotesWhatNeedsIt) {
  Report report = als_report();
  report.problems[0].why = "it said \"no\", twice,\r\nand went on";
  const auto rows = read_csv(to_csv(report));
  std::map<std::string, std::string> first;
  for (size_t i = 0; i < rows[0].size(); ++i) first[rows[0][i]] = rows[1][i];
  EXPECT_EQ(first["why"], report.problems[0].why);
  EXPECT_EQ(first["id"], "P1");
  EXPECT_EQ(first["call"], "cudaFree");
  EXPECT_EQ(first["saves_s"], "0.1");
  EXPECT_EQ(first["line"], "88");
  EXPECT_EQ(rows[2][2], "thrust::copy");
}

TEST(Csv, KernelsAreATableOfTheirOwn) {
  const auto rows = read_csv(to_kernels_csv(profiled_report()));
  ASSERT_EQ(rows.size(), 4u);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const auto field = [&](size_t row, const char* name) {
    return rows[row][static_cast<size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin())];
  };
  EXPECT_EQ(field(1, "gpu_s"), "0.5");
  EXPECT_EQ(field(1, "grid"), "64x8x1");
  EXPECT_EQ(field(1, "gains_half_s"), "0.1");
  EXPECT_EQ(field(2, "fixed_half_s"), "");
  EXPECT_EQ(field(2, "registers"), "");  // a copy
  EXPECT_EQ(field(3, "line"), "");
  EXPECT_EQ(read_csv(to_kernels_csv(als_report())).size(), 1u);
}

TEST(Sarif, HasEachProblemAtItsPlace) {
  const json log = json::parse(to_sarif(als_report(), kReader));
  EXPECT_EQ(log["version"], "2.1.0");
  const json& run = log["runs"][0];
  ASSERT_EQ(run["results"].size(), als_report().problems.size());
  const json& first = run["results"][0];
  EXPECT_EQ(first["ruleId"], "unnecessary-synchronization");
  EXPECT_EQ(first["level"], "warning");
  const json& place = first["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"], (json{{"uri", "src/als.cc"}, {"uriBaseId", "%SRCROOT%"}}));
  EXPECT_EQ(place["region"]["startLine"], 88);
  EXPECT_EQ(place["region"]["startColumn"], 3);
  for (const json& result : run["results"])
    EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"], result["ruleId"]);
}

TEST(Sarif, SaysThatASessionIsNotComplete) {
  const json log = json::parse(to_sarif(bare_report(), {}));
  const json& invocation = log["runs"][0]["invocations"][0];
  EXPECT_EQ(invocation["executionSuccessful"], false);
  EXPECT_EQ(invocation["toolExecutionNotifications"][0]["level"], "warning");
}

// Chrome's trace events: slices of one track nest or follow each other, and all names are known.
TEST(Perfetto, SlicesOfATrackDoNotOverlap) {
  for (const Report& report : samples()) {
    const json trace = json::parse(to_perfetto(report));
    std::map<std::pair<int, int>, double> ended;
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] == "M") continue;
      ASSERT_EQ(event["ph"], "X");
      EXPECT_GE(event["dur"].get<double>(), 0);
      double& end = ended[{event["pid"].get<int>(), event["tid"].get<int>()}];
      EXPECT_GE(event["ts"].get<double>(), end - 1e-6);
      end = event["ts"].get<double>() + event["dur"].get<double>();
    }
  }
}

TEST(Perfetto, MarksWhatCanBeSaved) {
  const json trace = json::parse(to_perfetto(timed_report()));
  std::map<std::string, int> categories;
  std::vector<std::string> tracks;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++categories[event["cat"]];
    if (event["name"] == "thread_name") tracks.push_back(event["args"]["name"]);
  }
  EXPECT_EQ(tracks, (std::vector<std::string>{"main thread", "main thread: can be saved", "stream 1"}));
  EXPECT_EQ(categories["problem"], 6);  // each on its thread's track, and on the one below
  EXPECT_EQ(categories["needed"], 1);
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["cat"] == "problem") {
      EXPECT_EQ(event["args"]["finding"], "P1");
      EXPECT_EQ(event["args"]["fix"], timed_report().problems[0].fix);
    }
}

TEST(Collapsed, HasALineAProblemThatSavesSomething) {
  const std::string text = to_collapsed(als_report());
  EXPECT_NE(text.find("main (main.cc:31);als::iterate (als.cc:190);thrust::copy: data was there 88000\n"),
            std::string::npos)
      << text;
  Report report = als_report();
  report.problems[0].stack[0].function = "a;b";
  for (ReportProblem& problem : report.problems) problem.expected_benefit_s = 0;
  EXPECT_EQ(to_collapsed(report), "");
  report.problems[0].expected_benefit_s = 1e-3;
  EXPECT_NE(to_collapsed(report).find("a:b"), std::string::npos) << to_collapsed(report);
}

TEST(Markdown, StaysATableAndFitsIntoAComment) {
  Report report = crowded_report();
  for (ReportProblem& problem : report.problems) {
    problem.where =
        ReportFrame{.function = "operator|(A<b> `c`, @someone #1)", .file = "/x/a|b.cc", .line = 3};
    problem.why = std::string(9'000, '*');
  }
  const std::string text = to_markdown(report, kReader);
  EXPECT_LT(text.size(), 65'536u);
  EXPECT_NE(text.find("are left out"), std::string::npos);
  EXPECT_EQ(text.find("@someone"), std::string::npos);
  for (size_t at = text.find("\n| "); at != std::string::npos; at = text.find("\n| ", at + 1)) {
    const std::string row = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    int bars = 0;
    for (size_t i = 0; i < row.size(); ++i) bars += row[i] == '|' && (i == 0 || row[i - 1] != '\\');
    EXPECT_EQ(bars, 7) << row;
  }
  for (const Report& one : samples()) EXPECT_FALSE(to_markdown(one, kReader).empty());
}

TEST(Markdown, HasTheKernels) {
  const std::string text = to_markdown(profiled_report(), {});
  EXPECT_NE(text.find("| 500 ms | 62.5% | 100 ms [98.0 ms to 102 ms] | 150 ms | als::gemm&lt;float"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| 100 ms | 12.5% | hidden |  | als::sum\\_of\\_errors |  |\n"), std::string::npos)
      << text;
  EXPECT_EQ(to_markdown(als_report(), {}).find("GPU time"), std::string::npos);
}

TEST(Markdown, SaysWhatIsMissing) {
  EXPECT_NE(to_markdown(bare_report(), {}).find("Not everything was measured"), std::string::npos);
}

}  // namespace
}  // namespace diogenes
