// `diogenes run --region`: what is judged, and what percentages are of, lies in NVTX ranges of that name.
#include <gtest/gtest.h>
#include <unistd.h>

#include "measured.h"

namespace diogenes::e2e {
namespace {

using nlohmann::json;

// Also with the headers of NVTX, where there are any.
std::vector<std::string> programs() {
  std::vector<std::string> found = {built("bin/tests/programs/ranges")};
  if (const std::string real = built("bin/tests/programs/ranges_nvtx3"); access(real.c_str(), X_OK) == 0)
    found.push_back(real);
  return found;
}

bool has_frame(const json& problem, const std::string& function) {
  for (const auto& frame : problem["stack"])
    if (text(frame, "function").starts_with(function)) return true;
  return false;
}

// Needless waits in a function of the program.
int waits_in(const Measured& measured, const std::string& function) {
  int count = 0;
  for (const auto& problem : measured.report.value("problems", json::array()))
    if (problem.value("kind", "") == "unnecessary-synchronization" && has_frame(problem, function))
      count += problem.value("count", 0);
  return count;
}

json part_of(const Measured& measured) { return measured.report["application"]["part"]; }

Measured measured_in(const std::string& region, const std::vector<std::string>& command,
                     const std::function<void(const std::string&)>& look = {}) {
  const auto alone = run_alone(command);
  EXPECT_EQ(alone.exit_status, 0) << alone.output << alone.errors;
  Measured result = run_measured(
      command, "", look, kNoBudget,
      region.empty() ? std::vector<std::string>{} : std::vector<std::string>{"--region", region});
  for (const auto& change : changes(alone, result)) ADD_FAILURE() << change;
  return result;
}

// Of the run in which the part is seen; the baseline may have had a quieter machine.
double tracing_seconds(const Measured& measured) {
  for (const json& run : measured.session["runs"])
    if (run["name"] == "tracing") return run["runtime_s"];
  ADD_FAILURE() << measured.session["runs"];
  return 0;
}

bench::ProcessRun gate(const std::string& session, const std::string& percent) {
  return bench::run_process({built("bin/diogenes"), "gate", session, "--fail-above", percent},
                            {.environment = {"XDG_CACHE_HOME=" + built("e2e-cache")}});
}

TEST(Region, WithoutItAllIsJudged) {
  const auto measured = measured_in("", {programs().front(), "steps"});
  EXPECT_GE(waits_in(measured, "outside"), 9) << measured.report_text;
  EXPECT_GE(waits_in(measured, "inside"), 19) << measured.report_text;
  EXPECT_TRUE(part_of(measured).is_null());
}

TEST(Region, OnlyWhatLiesInItIsJudged) {
  for (const std::string& program : programs())
    for (const char* how : {"steps", "unbalanced", "profiler"}) {
      SCOPED_TRACE(program + " " + how);
      bench::ProcessRun gated;
      const auto measured = measured_in("step", {program, how},
                                        [&](const std::string& session) { gated = gate(session, "100%"); });
      EXPECT_EQ(waits_in(measured, "outside"), 0) << measured.report_text;
      EXPECT_GE(waits_in(measured, "inside"), 19) << measured.report_text;
      const json part = part_of(measured);
      ASSERT_TRUE(part.is_object()) << measured.report_text;
      EXPECT_EQ(part["marks"], "NVTX range step");
      EXPECT_EQ(part["times"], 4);
      const double seconds = part["seconds"], benefit = measured.report["together"]["expected_benefit_s"];
      EXPECT_GT(seconds, 20 * 200e-6) << "20 kernels of 200 us";
      EXPECT_LE(seconds, measured.report["application"]["runtime_s"]);
      EXPECT_LT(seconds, tracing_seconds(measured));
      EXPECT_NEAR(measured.report["together"]["expected_benefit_percent"], 100 * benefit / seconds, 0.01);
      EXPECT_NE(measured.report_text.find("the NVTX range 'step', which the program enters 4 times"),
                std::string::npos)
          << measured.report_text;
      EXPECT_EQ(measured.session["request"]["region"], "step");
      EXPECT_TRUE(measured.report["complete"]) << measured.report["incomplete"];
      EXPECT_EQ(gated.exit_status, 0) << gated.output << gated.errors;
      EXPECT_NE(gated.output.find("of the part that the program marks"), std::string::npos) << gated.output;
    }
}

TEST(Region, HoldsForAllThreadsAndToTheEndOfTheProcess) {
  for (const char* how : {"thread", "open"}) {
    SCOPED_TRACE(how);
    const auto measured = measured_in("step", {programs().front(), how});
    EXPECT_EQ(waits_in(measured, "outside"), 0) << measured.report_text;
    EXPECT_GE(waits_in(measured, "inside"), 4) << measured.report_text;
    ASSERT_TRUE(part_of(measured).is_object());
    EXPECT_EQ(part_of(measured)["times"], 1);
  }
}

TEST(Region, ThatIsNotEnteredIsSaid) {
  bench::ProcessRun gated;
  const auto measured = measured_in("stpe", {programs().back(), "steps"},
                                    [&](const std::string& session) { gated = gate(session, "100%"); });
  EXPECT_FALSE(measured.report["complete"]);
  EXPECT_NE(measured.report_text.find("no NVTX range 'stpe' was entered"), std::string::npos)
      << measured.report_text;
  const std::string sentence = measured.report["incomplete"].dump();
  EXPECT_NE(
      sentence.find("ranges that were: 'epoch', 'load', 'step'; the report is as if --region were not given"),
      std::string::npos)
      << sentence;
  EXPECT_TRUE(part_of(measured).is_null());
  EXPECT_GE(waits_in(measured, "outside"), 9) << measured.report_text;
  EXPECT_EQ(gated.exit_status, 3) << gated.output << gated.errors;

  const auto without = measured_in("step", {programs().front(), "none"});
  EXPECT_NE(without.report["incomplete"].dump().find("does the program, or a library that it uses, call NVTX "
                                                     "3"),
            std::string::npos)
      << without.report["incomplete"];
}

TEST(Region, DoesNotPushAsideTheUsersOwnTool) {
  const bench::TemporaryFolder folder;
  const std::string session = folder.path() / "session.diogenes";
  const auto run = bench::run_process(
      {built("bin/diogenes"), "run", "--driver", "simulated", "--region", "step", "--output", session, "--",
       programs().front(), "steps"},
      {.environment = {"NVTX_INJECTION64_PATH=/opt/their/tool.so", "XDG_CACHE_HOME=" + built("e2e-cache")}});
  EXPECT_EQ(run.exit_status, 125);
  EXPECT_EQ(
      run.errors,
      "diogenes: NVTX_INJECTION64_PATH=/opt/their/tool.so takes the program's NVTX calls, which go to one "
      "tool: --region cannot be used beside it; unset it, or leave out --region\n");
  EXPECT_EQ(run.output, "") << "the program does not run";
  EXPECT_NE(access(session.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace diogenes::e2e
