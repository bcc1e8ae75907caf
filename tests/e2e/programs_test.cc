// What programs do, and what an agent in them must survive: output and exit status are those of the program
// alone, in every run.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "measured.h"

namespace diogenes::e2e {
namespace {

struct Program {
  const char* name;
  const char* argument = nullptr;
  int status = 0;  // how it ends alone: if that is not so, the test says nothing
  bool all_stages =
      true;  // it comes to an end and uses CUDA: the stages ran, the last one if there is work for it
};

std::string title(const testing::TestParamInfo<Program>& info) {
  std::string result = info.param.name;
  if (info.param.argument != nullptr) result += std::string("_") + info.param.argument;
  for (char& c : result)
    if (c == '-') c = '_';
  return result;
}

class Programs : public testing::TestWithParam<Program> {};

TEST_P(Programs, AreTheSameWhenMeasured) {
  const Program& program = GetParam();
  std::vector<std::string> command = {built(std::string("bin/tests/programs/") + program.name)};
  if (program.argument != nullptr) command.push_back(program.argument);
  const std::string input = "first\nsecond\n";
  const auto alone = run_alone(command, input);
  ASSERT_EQ(alone.exit_status, program.status) << alone.output << alone.errors;
  const auto measured = run_measured(command, input);
  for (const auto& change : changes(alone, measured)) ADD_FAILURE() << change;
  if (!program.all_stages) return;
  const auto runs = measured.session.value("runs", nlohmann::json::array());
  EXPECT_GE(runs.size(), 3u) << measured.session.dump(2);
  for (const auto& run : runs) EXPECT_EQ(run.value("state", ""), "complete") << run;
  EXPECT_TRUE(measured.report.is_object()) << measured.export_errors;
}

constexpr int kSignal = 128;

INSTANTIATE_TEST_SUITE_P(
    , Programs,
    testing::Values(
        Program{"prints"}, Program{"variables"}, Program{"fork", "before", 3}, Program{"fork", "after", 3},
        Program{"fork", "many", 3}, Program{"spawn", "exec"}, Program{"spawn", "exec-after"},
        Program{"spawn", "spawn"}, Program{"spawn", "system"}, Program{"spawn", "vfork"}, Program{"threads"},
        Program{"segv_handler", "before"}, Program{"segv_handler", "after"},
        Program{"segv_handler", "ignore"}, Program{"memory"}, Program{"timers"}, Program{"dynamic", "dlopen"},
        Program{"dynamic", "proc-address"}, Program{"patcher"}, Program{"patcher", "late"},
        Program{"patcher_early"}, Program{"end", "return", 17}, Program{"end", "exit", 18},
        Program{"end", "_exit", 19}, Program{"end", "quick_exit", 20}, Program{"end", "thread-exit", 21},
        Program{"end", "segv", kSignal + 11, false}, Program{"end", "thread-segv", kSignal + 11, false},
        Program{"end", "abort", kSignal + 6, false}, Program{"end", "throw", kSignal + 6, false},
        Program{"end", "kill", kSignal + 9, false}, Program{"end", "term", kSignal + 15, false},
        Program{"endings", "handler", 7}, Program{"endings", "vfork"}, Program{"endings", "locks"},
        Program{"endings", "asleep"}, Program{"contexts"}, Program{"borrowed"}, Program{"beside_locks"},
        Program{"cancelled"}, Program{"handles"}, Program{"handles", "cancel"}, Program{"handlers", "before"},
        Program{"handlers", "after"}, Program{"host_functions"}, Program{"raw_threads"},
        Program{"neighbours"}, Program{"unload"}, Program{"visits"}, Program{"peers", nullptr, 5},
        Program{"bad_addresses"}, Program{"interrupted"}, Program{"rights", "before"},
        Program{"rights", "after"}, Program{"stacks"}, Program{"children", "only"},
        Program{"children", "several"}, Program{"children", "daemon"}, Program{"helpers"},
        Program{"overlapped_copies"}, Program{"late_reader"}, Program{"no_cuda", nullptr, 7, false}),
    title);

// The patch of the program's own is in force: its calls arrive there, ours beside it or not at all.
TEST(PatchedDriver, TheProgramsOwnPatchIsCalledAsOften) {
  const auto measured = run_measured({built("bin/tests/programs/patcher_early")});
  EXPECT_NE(measured.run.output.find("patched calls: 6\n"), std::string::npos) << measured.run.output;
  const auto late = run_measured({built("bin/tests/programs/patcher"), "late"});
  EXPECT_NE(late.run.output.find("patched calls: 3\n"), std::string::npos) << late.run.output;
}

// What kernels print is a condition of the finding.
TEST(Prints, ThatComeOutAtAWaitAreSaid) {
  const auto measured = run_measured({built("bin/tests/programs/prints")});
  EXPECT_NE(measured.run.output.find("a kernel says 9\n"), std::string::npos) << measured.run.output;
  std::map<std::string, bool> said;  // by function
  for (const auto& problem : measured.report.value("problems", nlohmann::json::array())) {
    bool prints = false;
    for (const auto& condition : problem["conditions"]) prints |= condition["code"] == "kernel-prints";
    for (const auto& frame : problem["stack"])
      if (const std::string function = text(frame, "function"); problem["operation"] == "cuStreamSynchronize")
        said[function.substr(0, function.find('('))] |= prints;
  }
  ASSERT_TRUE(said.contains("with_prints") && said.contains("without_prints")) << measured.report_text;
  EXPECT_TRUE(said["with_prints"]) << measured.report_text;
  EXPECT_FALSE(said["without_prints"]) << measured.report_text;
}

// Of the waits by this function, how many nobody needs.
int unnecessary_waits(const Measured& measured, const std::string& by) {
  int result = 0;
  for (const auto& problem : measured.report.value("problems", nlohmann::json::array())) {
    if (problem["kind"] != "unnecessary-synchronization" || problem["operation"] != "cuStreamSynchronize")
      continue;
    for (const auto& frame : problem["stack"])
      if (const std::string function = text(frame, "function"); function.substr(0, function.find('(')) == by)
        result += problem["count"].get<int>();
  }
  return result;
}

TEST(Children, AreMeasuredLikeAnyProcess) {
  for (const char* how : {"only", "several", "daemon"}) {
    const auto measured = run_measured({built("bin/tests/programs/children"), how});
    EXPECT_GE(unnecessary_waits(measured, "work"), 5) << how << measured.report_text;
    EXPECT_EQ(measured.session["notices"], nlohmann::json::array()) << how;
    EXPECT_EQ(measured.report_text.find("hooked"), std::string::npos) << how << measured.report_text;
  }
}

// Host functions are followed; those of graphs are not, and guarding ends.
TEST(HostFunctions, EndGuardingInGraphsAlone) {
  const auto measured = run_measured({built("bin/tests/programs/host_functions")});
  EXPECT_GE(unnecessary_waits(measured, "after_functions"), 19) << measured.report_text;
  EXPECT_EQ(unnecessary_waits(measured, "after_graphs"), 0) << measured.report_text;
  EXPECT_NE(measured.report_text.find("memory could not be guarded"), std::string::npos)
      << measured.report_text;
}

// A shell is another process. Libc's threads for a timer use this one's memory unseen.
TEST(Helpers, EndGuardingWhereTheyAreThreads) {
  const auto measured = run_measured({built("bin/tests/programs/helpers")});
  for (const char* function : {"before_all", "after_shell"})
    EXPECT_GE(unnecessary_waits(measured, function), 15) << function << "\n" << measured.report_text;
  EXPECT_EQ(unnecessary_waits(measured, "after_timer"), 0) << measured.report_text;
}

// When the agent's own destructors have run.
TEST(LateReader, UsesItsResult) {
  const auto measured = run_measured({built("bin/tests/programs/late_reader")});
  EXPECT_NE(measured.run.output.find("late: 1261568\n"), std::string::npos) << measured.run.output;
  EXPECT_GE(unnecessary_waits(measured, "main"), 5) << measured.report_text;
  EXPECT_EQ(unnecessary_waits(measured, "wait_for_late_reader"), 0) << measured.report_text;
}

// A managed variable: the waits behind which it is read are needed, the others are not.
TEST(ManagedVariable, IsWatched) {
  const auto measured = run_measured({built("bin/tests/programs/variables")});
  EXPECT_NE(measured.run.output.find("65536 bytes, 0 at first, then 737280 and 147456\n"), std::string::npos)
      << measured.run.output;
  std::map<std::string, int> unnecessary;  // by function
  for (const auto& problem : measured.report.value("problems", nlohmann::json::array()))
    for (const auto& frame : problem["stack"])
      if (const std::string function = text(frame, "function");
          problem["kind"] == "unnecessary-synchronization")
        unnecessary[function.substr(0, function.find('('))] += problem["count"].get<int>();
  EXPECT_EQ(unnecessary["used"], 0) << measured.report_text;
  EXPECT_EQ(unnecessary["counted"], 0) << measured.report_text;
  EXPECT_GE(unnecessary["not_used"], 9) << measured.report_text;
}

// The unwinder of the compiler's runtime follows any frame.
TEST(DamagedStack, IsWalkedAsFarAsItLeads) {
  const std::vector<std::string> command = {built("bin/tests/programs/damaged_stack")};
  for (const auto& change : changes(run_alone(command), run_measured(command))) ADD_FAILURE() << change;
}

TEST(Java, IsTheSameWhenMeasured) {
  const std::string java = E2E_JAVA, folder = built("bin/tests/programs");
  if (java.empty()) GTEST_SKIP() << "no Java development kit was found when this was built";
  const std::vector<std::string> command = {java,  "-Xmx256m", "-Djava.library.path=" + folder,
                                            "-cp", folder,     "Managed"};
  const auto alone = run_alone(command);
  ASSERT_EQ(alone.exit_status, 0) << alone.output << alone.errors;
  ASSERT_NE(alone.output.find("overflow caught"), std::string::npos) << alone.output;
  const auto measured = run_measured(command);
  for (const auto& change : changes(alone, measured)) ADD_FAILURE() << change;
  EXPECT_TRUE(measured.report.is_object()) << measured.export_errors;
}

// Whether the budget is reached depends on the machine; what may be found does not. The first occurrences are
// looked at in any case.
TEST(Budget, OfTransfersChangesNothingButWhatIsLookedAt) {
  const std::vector<std::string> command = {built("bin/tests/programs/heavy_transfers")};
  const auto alone = run_alone(command);
  ASSERT_EQ(alone.exit_status, 0) << alone.output;
  const auto measured = run_measured(command, "", {}, "1.1");
  for (const auto& change : changes(alone, measured)) ADD_FAILURE() << change;
  ASSERT_TRUE(measured.report.is_object()) << measured.export_errors;
  for (const auto& run : measured.session.value("runs", nlohmann::json::array()))
    EXPECT_EQ(run.value("state", ""), "complete") << run;
  bool again = false;
  for (const auto& problem : measured.report.value("problems", nlohmann::json::array())) {
    const std::string kind = problem.value("kind", ""), function = text(problem["stack"][0], "function");
    again |= kind == "duplicate-transfer" && function.starts_with("send_again(");
    EXPECT_LE(problem.value("count", 0), problem.value("instances", 0));
    // They carry new data each time, and the CPU uses what comes back.
    EXPECT_FALSE(function.starts_with("send_new(") && kind == "duplicate-transfer") << problem.dump(2);
    EXPECT_FALSE(function.starts_with("fetch(") && kind != "misplaced-synchronization") << problem.dump(2);
  }
  EXPECT_TRUE(again) << measured.report_text;
}

TEST(NoCuda, IsRunOnceAndSaysSo) {
  const auto measured = run_measured({built("bin/tests/programs/no_cuda")}, "one\n");
  EXPECT_EQ(measured.session.value("runs", nlohmann::json::array()).size(), 1u) << measured.session.dump(2);
  EXPECT_EQ(measured.run.output, "line: one\n");
}

}  // namespace
}  // namespace diogenes::e2e
