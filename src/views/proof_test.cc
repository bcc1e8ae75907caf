#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "views/exports/exports.h"
#include "views/html/html.h"
#include "views/shared/proof_text.h"
#include "views/testing/sample_reports.h"
#include "views/text/text.h"

namespace diogenes {
namespace {

using nlohmann::json;

const std::string kFolder = "/home/me/als";
const Reader kProofReader{.folder = kFolder, .session = "als.1.diogenes"};

TEST(Proof, InWords) {
  ReportProved proved = *proved_report().problems[0].proved;
  EXPECT_EQ(proof_text(proved), "expected 8.0%, proved 7.6% +- 0.4; 498 of 500 calls; results equal");
  EXPECT_EQ(
      proof_details(proved),
      "expected 100 ms (8.0%), proved 95.0 ms +- 5.00 ms (7.6% +- 0.4); 498 of 500 calls; results equal");
  proved.difference = "stdout differs";
  proved.up_to = true;
  EXPECT_EQ(proof_text(proved),
            "expected up to 8.0%, proved 7.6% +- 0.4; 498 of 500 calls; results DIFFERENT");
  proved.applied = 0;
  EXPECT_EQ(proof_text(proved), "none of 500 calls could be corrected");
  proved.calls = 0;
  EXPECT_EQ(proof_details(proved), "none of its calls was made in the runs of diogenes prove");
  EXPECT_EQ(
      proof_of_all(proved_report()),
      "expected up to 183 ms (14.6%), proved 160 ms +- 6.00 ms (12.8% +- 0.5); 1,478 of 1,480 calls; results equal "
      "(3 findings corrected together, in 5 pairs of runs; correcting itself took 1.0%)");
  EXPECT_EQ(proof_of_all(als_report()), "");
}

TEST(Proof, WhatIsWrongIsSaidFirst) {
  Report report = proved_report();
  const std::vector<std::string> expected = {
      "Withdrawn: P5, cudaStreamSynchronize: early wait, src/als.cc:300 in als::iterate: correcting it changed the results "
      "(stdout differs from the runs as it is at line 3).",
      "P4: 20.0 ms (1.6%) was expected, but 4.00 ms +- 2.00 ms (0.3% +- 0.2) was proved."};
  EXPECT_EQ(proof_warnings(report, kFolder), expected);
  EXPECT_EQ(to_text(report, {.working_folder = kFolder}).find("Withdrawn: P5"), 0u);
  EXPECT_TRUE(proof_warnings(als_report(), kFolder).empty());
  report.proof->together->difference = "stdout differs";
  report.proof->withdrawn.clear();
  EXPECT_EQ(proof_warnings(report, kFolder).front(),
            "All together: correcting it changed the results (stdout differs).");
  report.groups[0].proved->as_expected = report.groups[1].proved->as_expected = false;
  EXPECT_EQ(proof_warnings(report, kFolder).size(), 3u);  // groups of the same members once
}

TEST(Proof, IsInEachView) {
  const Report report = proved_report();
  const std::string first = proof_details(*report.problems[0].proved);
  const std::string page = to_html(report, kProofReader), comment = to_markdown(report, kProofReader);
  for (const std::string& sentence : {first, proof_of_all(report), std::string("Withdrawn: P5")})
    EXPECT_NE(page.find(sentence), std::string::npos) << sentence;
  EXPECT_LT(page.find("Withdrawn: P5"), page.find("class=\"headline\""));
  EXPECT_NE(comment.find("7.6% +- 0.4"), std::string::npos);
  EXPECT_LT(comment.find("Withdrawn: P5"), comment.find("can be saved"));
  EXPECT_NE(to_csv(report).find("proved_results_equal\r\n"), std::string::npos);
  EXPECT_NE(to_csv(report).find(",0.095,0.005,500,498,yes\r\n"), std::string::npos) << to_csv(report);
  const json log = json::parse(to_sarif(report, kProofReader));
  EXPECT_EQ(log["runs"][0]["results"][0]["properties"]["proved_s"], 0.095);
  EXPECT_EQ(log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["descriptor"]["id"], "proved");
}

TEST(Proof, AsJson) {
  const json report = json::parse(to_json(proved_report()));
  EXPECT_EQ(report["problems"][0]["proved"]["benefit_s"], 0.095);
  EXPECT_EQ(report["problems"][0]["proved"]["applied"], 498);
  EXPECT_EQ(report["problems"][0]["proved"]["results_equal"], true);
  EXPECT_FALSE(report["problems"][1].contains("proved"));
  EXPECT_EQ(report["problems"][3]["proved"]["as_expected"], false);
  EXPECT_EQ(report["required"][0]["proved"]["up_to"], true);
  EXPECT_EQ(report["groups"][0]["proved"]["error_s"], 0.0045);
  EXPECT_EQ(report["proof"]["together"]["benefit_s"], 0.16);
  EXPECT_EQ(report["proof"]["findings"], 3);
  EXPECT_EQ(report["proof"]["withdrawn"][0]["id"], "P5");
  const json without = json::parse(to_json(als_report()));
  EXPECT_FALSE(without.contains("proof"));
  EXPECT_FALSE(without["problems"][0].contains("proved"));
}

}  // namespace
}  // namespace diogenes
