// Stacks of Python programs: each planted synchronization has the frames that the interpreter itself tells
// (programs/python/frames.py), with every interpreter that is installed here.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "pythons.h"

namespace diogenes::e2e {
namespace {

using nlohmann::json;

// Of the frames that the interpreter told, as many as are kept.
json kept(const json& told) {
  json frames = told;
  while (frames.size() > 128) frames.erase(frames.size() - 1);
  return frames;
}

class Python : public testing::TestWithParam<std::string> {};

TEST_P(Python, FramesAreThoseThatTheInterpreterTells) {
  const std::vector<std::string> command = {GetParam(), kPrograms + "/frames.py", kKernels};
  const auto alone = run_alone(command);
  ASSERT_EQ(alone.exit_status, 0) << alone.output << alone.errors;
  const auto measured = run_measured(command);
  for (const auto& change : changes(alone, measured)) ADD_FAILURE() << change;
  const json told = json::parse(alone.output, nullptr, false);
  ASSERT_TRUE(told.is_object()) << alone.output;
  // Two of a line differ in the place within it alone.
  std::map<std::string, int> expected, counts;
  for (const auto& [name, frames] : told.items()) {
    const std::string key = kept(frames).dump();
    expected[key] += name == "generator" ? 24 : 8;
  }
  size_t sites = 0;
  for (const auto& problem : measured.report.value("problems", json::array()))
    if (problem.value("operation", "") == "cuStreamSynchronize") {
      ++sites;
      counts[python_frames(problem["stack"]).dump()] += problem.value("instances", 0);
    }
  EXPECT_EQ(sites, told.size());
  EXPECT_EQ(counts, expected);
  EXPECT_NE(measured.report_text.find("frames.py:"), std::string::npos) << measured.report_text;
}

// C called Python: its frame stands between those of the two evaluators.
TEST_P(Python, FramesStandWhereTheyBelong) {
  const auto measured = run_measured({GetParam(), kPrograms + "/frames.py", kKernels});
  bool seen = false;
  for (const auto& problem : measured.report.value("problems", json::array())) {
    std::string order;  // "python function" or "library", innermost first
    for (const auto& frame : problem["stack"]) {
      const std::string function = text(frame, "function"), module = text(frame, "module");
      EXPECT_EQ(function.find("_PyEval"), std::string::npos);
      if (frame["language"] == "python") order += function + " ";
      if (module.find("/libc.so") != std::string::npos && !order.ends_with("libc ")) order += "libc ";
    }
    if (!order.starts_with("compare ")) continue;
    seen = true;
    EXPECT_TRUE(order.starts_with("compare libc called_back scenes main <module> ")) << order;
  }
  EXPECT_TRUE(seen) << measured.report_text;
}

// What PyTorch's engine does on its threads shows which backward() it works for, and no older one.
TEST_P(Python, ThreadsShowForWhomTheyWork) {
  const auto measured = run_measured({GetParam(), kPrograms + "/backward.py", kKernels});
  std::map<std::string, int> seen;  // by the functions from the innermost on
  for (const auto& problem : measured.report.value("problems", json::array())) {
    std::string order;
    for (const auto& frame : problem["stack"])
      if (frame["language"] == "python")
        order += frame.value("function", "") + (frame["waits"] == true ? "* " : " ");
    seen[order] += problem.value("instances", 0);
  }
  const std::string worker = "on_engine_thread _engine_run_backward* ";
  EXPECT_EQ(seen,
            (std::map<std::string, int>{
                {"<module> ", 20}, {worker + "train* <module>* ", 20}, {worker + "refine* <module>* ", 20}}))
      << measured.report_text;
}

// Rows could be looked at all at once: two of the three turns go, each of the twelve times.
TEST_P(Python, TurnsOfALoopAreCounted) {
  const auto measured = run_measured({GetParam(), kPrograms + "/rows.py", kKernels});
  const json& all = measured.report["required"];
  const auto found = std::find_if(all.begin(), all.end(), [](const json& line) {
    return line["where"].is_object() && line["where"]["function"] == "look_at_rows";
  });
  ASSERT_NE(found, all.end()) << measured.report_text;
  EXPECT_EQ((*found)["count"], 36u) << *found;
  EXPECT_EQ((*found)["turns"], 24u) << *found;
  EXPECT_EQ((*found)["loops"], 12u) << *found;
  EXPECT_GT((*found)["up_to_s"].get<double>(), (*found)["waits_gain_s"].get<double>()) << *found;
  EXPECT_NE(text(*found, "fix").find("all turns of the loop around it at once"), std::string::npos) << *found;
}

// What Python does between two calls of the driver, by samples of the CPU or by readings alone.
TEST_P(Python, ItsOwnWorkIsNamedInAProfile) {
  for (const bool perf : {true, false}) {
    const bench::TemporaryFolder folder;
    const std::string session = folder.path() / "session.diogenes";
    std::vector<std::string> words = {
        built("bin/diogenes"),      "profile", "--driver", "simulated", "--output", session, "--", GetParam(),
        kPrograms + "/computes.py", kKernels};
    if (!perf) words.insert(words.begin(), built("bin/tests/programs/without_perf"));
    const auto run = bench::run_process(words, {.environment = {"XDG_CACHE_HOME=" + built("e2e-cache")}});
    ASSERT_EQ(run.exit_status, 0) << run.errors;
    EXPECT_EQ(run.output, "669\n");
    if (run.errors.find("refuses to read the program's memory") != std::string::npos)
      GTEST_SKIP() << "the program's memory may not be read here";
    std::ifstream in(session + "/report.json");
    const json report = json::parse(in, nullptr, false);
    ASSERT_TRUE(report.is_object());
    double idle_s = 0;
    for (const json& context : report.at("profile").at("contexts"))
      if (context.value("name", "") == "count_of_primes") {
        EXPECT_EQ(context.at("language"), "python");
        idle_s += context.at("inclusive").value("idle_s", 0.0);
      }
    EXPECT_GT(idle_s, 0) << perf << report.at("profile").at("contexts");
  }
}

// How the interpreter's frames are read is not the program's doing: it ends no watching.
TEST_P(Python, ResultsAreWatchedBehindAPrivateWait) {
  const auto measured = run_measured({GetParam(), kPrograms + "/private_wait.py", kKernels});
  const json& coverage = measured.report["coverage"];
  EXPECT_EQ(coverage["judged"], coverage["synchronizations"]) << measured.report_text;
  uint64_t needless = 0;
  for (const auto& problem : measured.report.value("problems", json::array()))
    if (problem.value("operation", "") == "cuStreamSynchronize") needless += problem.value("count", 0);
  EXPECT_EQ(needless, 20u) << measured.report_text;
}

INSTANTIATE_TEST_SUITE_P(, Python, testing::ValuesIn(interpreters()), title);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Python);

}  // namespace
}  // namespace diogenes::e2e
