// The examples on the simulated driver: the planted problems are found, with kind, call, file and line, and
// nothing else; nothing at all with --fixed; and measuring changes nothing.
#include <gtest/gtest.h>

#include <fstream>

#include "expectation.h"
#include "measured.h"

namespace diogenes::e2e {
namespace {

const std::vector<std::string> kUsual;  // nothing that gains little is listed

using nlohmann::json;

struct Example {
  const char* name;
  const char* iterations;  // enough to see each problem often, few enough for a test
};

json expected_of(const std::string& name) {
  std::ifstream in(built("bin/examples/expected.json"));
  return json::parse(in).at("programs").at(name);
}

std::vector<std::string> command_of(const Example& example, bool fixed) {
  std::vector<std::string> result = {built(std::string("bin/examples/") + example.name), "--iterations",
                                     example.iterations};
  if (fixed) result.push_back("--fixed");
  return result;
}

std::string describe(const Measured& measured) {
  return measured.report_text + "\n" + measured.run.errors + measured.export_errors;
}

// On a busy machine a thread may stand still between a wait and the first use behind it. What is planted is
// worth far more.
json without_standstills(json report) {
  json problems = json::array();
  for (const json& problem : report["problems"])
    if (problem["kind"] != "misplaced-synchronization" || problem["expected_benefit_percent"] >= 2.0)
      problems.push_back(problem);
  report["problems"] = problems;
  return report;
}

class Examples : public testing::TestWithParam<Example> {};

TEST_P(Examples, ThePlantedProblemsAreFoundAndNothingElse) {
  const auto command = command_of(GetParam(), false);
  const auto alone = run_alone(command);
  ASSERT_EQ(alone.exit_status, 0) << alone.errors;
  // On a busy machine, what is planted may gain less than is listed.
  json everything;
  const auto report_everything = [&](const std::string& session) {
    const auto reported = bench::run_process(
        {built("bin/diogenes"), "report", session, "--format", "json", "--threshold", "0"}, {});
    everything = json::parse(reported.output, nullptr, false);
  };
  const auto measured = run_measured(command, "", report_everything, kNoBudget, kUsual);
  for (const auto& change : changes(alone, measured)) ADD_FAILURE() << change;
  ASSERT_TRUE(measured.report.is_object()) << describe(measured);
  ASSERT_TRUE(everything.is_object());
  EXPECT_EQ(measured.report.value("schema", ""), "diogenes-report/2");
  EXPECT_TRUE(measured.report["driver"].value("simulated", false));
  for (const auto& finding : examples::missing(expected_of(GetParam().name), everything))
    ADD_FAILURE() << finding << "\n" << describe(measured);
  for (const auto& problem :
       examples::not_planted(expected_of(GetParam().name), without_standstills(measured.report)))
    ADD_FAILURE() << problem << "\n" << describe(measured);
}

TEST_P(Examples, TheCorrectedVariantHasNoProblemsAndPrintsTheSame) {
  const auto alone = run_alone(command_of(GetParam(), true));
  EXPECT_EQ(alone.output, run_alone(command_of(GetParam(), false)).output);
  const auto measured = run_measured(command_of(GetParam(), true), "", {}, kNoBudget, kUsual);
  for (const auto& change : changes(alone, measured)) ADD_FAILURE() << change;
  ASSERT_TRUE(measured.report.is_object()) << describe(measured);
  for (const auto& difference : examples::differences(json::array(), without_standstills(measured.report)))
    ADD_FAILURE() << difference << "\n" << describe(measured);
}

TEST_P(Examples, SayWhatTheyTake) {
  const std::string program = built(std::string("bin/examples/") + GetParam().name);
  const auto help = run_alone({program, "--help"});
  EXPECT_EQ(help.exit_status, 0);
  EXPECT_NE(help.output.find("--fixed"), std::string::npos) << help.output;
  const auto wrong = run_alone({program, "--iterations", "none"});
  EXPECT_EQ(wrong.exit_status, 2);
  EXPECT_NE(wrong.errors.find("cannot use '--iterations'"), std::string::npos) << wrong.errors;
}

std::string title(const testing::TestParamInfo<Example>& example) { return example.param.name; }

INSTANTIATE_TEST_SUITE_P(, Examples,
                         testing::Values(Example{"als", "75"}, Example{"cfd", "60"},
                                         Example{"multigrid", "80"}, Example{"gaussian", "100"},
                                         Example{"transfers", "60"}),
                         title);

}  // namespace
}  // namespace diogenes::e2e
