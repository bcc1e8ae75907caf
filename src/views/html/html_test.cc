// The page as text: everything that the program wrote is escaped, each link leads somewhere, and nothing is fetched.
// What a browser makes of it: tests/web.
#include "views/html/html.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "views/html/html_parts.h"
#include "views/testing/sample_profile.h"
#include "views/testing/sample_reports.h"

namespace diogenes {
namespace {

const Reader kPageReader{.folder = "/home/me/als", .session = "als.1.diogenes"};

// Without the bundled script and style, which are not ours to check here.
std::string markup(const Report& report) {
  std::string page = to_html(report, kPageReader);
  const size_t style = page.find("<style>");
  page.erase(style, page.find("</style>") - style);
  const size_t script = page.find("<script>\n");
  page.erase(script, page.find("</script>", script) - script);
  return page;
}

TEST(Html, EscapesText) {
  EXPECT_EQ(html("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(html("tab\tline\nbell\a"), "tab\tline\nbell ");
  EXPECT_EQ(html("it's \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82"),
            "it's \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82");
  for (const char* wrong : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82"})
    EXPECT_NE(html(wrong).find("\xef\xbf\xbd"), std::string::npos);
}

TEST(Html, NothingOfTheProgramBecomesMarkup) {
  Report report = timed_report();
  const std::string evil = "</script><img src=x onerror=alert(1)>\"'";
  report.command = {evil};
  for (ReportProblem& problem : report.problems) {
    problem.why = problem.fix = problem.via = evil;
    problem.where->function = problem.where->file = evil;
    problem.source.lines = {evil};
    for (ReportFrame& frame : problem.stack) frame.function = evil;
  }
  for (ReportGroup& group : report.groups) group.title = evil;
  report.notices = {{"x", evil}};
  report.incomplete = {evil};
  report.timeline->names[0] = report.timeline->lanes[0].name = evil;
  const std::string page = markup(report);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  size_t scripts = 0;
  for (size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 2u);
}

TEST(Html, LinksLeadToElementsAndNothingIsFetched) {
  for (const Report& report :
       {Report{}, empty_report(), als_report(), bare_report(), crowded_report(), transfers_report(),
        timed_report(), proved_report(), contexts_report(), nonsense_profile_report()}) {
    const std::string page = markup(report);
    std::set<std::string> ids;
    const std::regex id("\\bid=\"([^\"]+)\""), link("href=\"#([^\"]+)\"");
    for (std::sregex_iterator it(page.begin(), page.end(), id), end; it != end; ++it)
      EXPECT_TRUE(ids.insert((*it)[1]).second) << "twice: " << (*it)[1];
    for (std::sregex_iterator it(page.begin(), page.end(), link), end; it != end; ++it)
      EXPECT_TRUE(ids.count((*it)[1])) << "leads nowhere: " << (*it)[1];
    EXPECT_FALSE(std::regex_search(page, std::regex("(src|href)=\"(http|//|/)")));
  }
}

TEST(Html, SaysWhatIsMissingAndNothingGoodOfIt) {
  const std::string page = markup(bare_report());
  EXPECT_NE(page.find("not complete"), std::string::npos);
  EXPECT_NE(page.find("Not everything was measured"), std::string::npos);
  EXPECT_EQ(markup(als_report()).find("Not everything was measured"), std::string::npos);
}

TEST(Html, ReadsWithoutScripts) {
  const std::string page = markup(als_report());
  for (const char* text :
       {"cudaFree: needless wait", "src/als.cc:88", "allocate once and reuse the memory", "163 ms",
        "<mark><b>88</b>", "Needed waits that cost most", "als.1.diogenes --details all"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
}

TEST(Html, NamesOfKernelsAndContextsAreTextAndFiguresAreNumbers) {
  const Report report = nonsense_profile_report();
  const std::string page = markup(report);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  for (const char* wrong : {"nan", "inf "}) EXPECT_EQ(page.find(wrong), std::string::npos) << wrong;
  const auto data = nlohmann::json::parse(html_data(report, outline(report), kPageReader))["profile"];
  EXPECT_EQ(data["cpu"].size(), report.profile->contexts.size());
  EXPECT_EQ(data["cpu"][3], 0);      // infinite
  EXPECT_EQ(data["called"][11], 0);  // -5
}

TEST(Html, ContextsAreColumnsInNanoseconds) {
  const Report report = contexts_report();
  const auto data = nlohmann::json::parse(html_data(report, outline(report), kPageReader))["profile"];
  EXPECT_EQ(data["gpu"][5], 24'000'000);  // 300 ms, of which 92% lie in places below
  EXPECT_EQ(data["texts"][data["name"][2].get<size_t>()], "als::iterate");
  EXPECT_EQ(data["texts"][data["place"][2].get<size_t>()], "src/als.cc:180");
  EXPECT_EQ(data["work"][10], 1);
  EXPECT_FALSE(data.contains("cpu_ranks"));  // one process
  EXPECT_NE(markup(no_contexts_report()).find("No calling contexts were recorded"), std::string::npos);
}

TEST(Html, DataHasTheTimelineInWholeUnits) {
  const Report report = timed_report();
  const auto data = nlohmann::json::parse(html_data(report, outline(report), kPageReader));
  const auto& lane = data["timeline"]["lanes"][0];
  EXPECT_EQ(lane["kind"], "thread");
  EXPECT_EQ(lane["begin"].size(), lane["mark"].size());
  EXPECT_EQ(lane["begin"][0], 100'000);  // 1 ms
  EXPECT_EQ(lane["mark"][1], 1);
  EXPECT_EQ(data["problems"][0]["finding"], "f1");
  EXPECT_TRUE(
      nlohmann::json::parse(html_data(als_report(), outline(report), kPageReader))["timeline"].is_null());
}

}  // namespace
}  // namespace diogenes
