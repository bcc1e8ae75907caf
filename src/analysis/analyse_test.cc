#include "analysis/analyse.h"

#include <gtest/gtest.h>

#include <fstream>

#include "analysis/runs/decisions.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

// A loop of 100 rounds, 1 ms each: a needless synchronize, a copy of the same data, a wait that is used
// later.
Timeline example() {
  Timeline trace;
  int first = -1;
  for (int i = 0; i < 100; ++i) {
    trace.launch(10).copy("cuMemcpyHtoD_v2", 4096, lasting(20), 30).from(0x100).needed(kOrder);
    if (first < 0)
      first = trace.last();
    else
      trace.repeats(first);
    trace.work(100).sync(lasting(200)).from(0x200).unnecessary().work(300);
    trace.launch(10).sync(lasting(130)).from(0x300).first_use(after(100), kCpuAccess, 0x940).work(200);
  }
  return trace;
}

bool has_notice(const Report& report, const std::string& part) {
  for (const ReportNotice& notice : report.notices)
    if (notice.text.find(part) != std::string::npos) return true;
  return std::any_of(report.incomplete.begin(), report.incomplete.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

std::string all_notices(const Report& report) {
  std::string text;
  for (const ReportNotice& notice : report.notices) text += notice.text + "\n";
  for (const std::string& missing : report.incomplete) text += missing + "\n";
  return text;
}

// 50 rounds of L200 S(200) W10, a second synchronization, W300: nobody needs either. The second finds all
// done, and does not wait; it would for 190 without the first. A third one, behind the CPU's work, never
// would.
TEST(Analyse, ASynchronizationThatWouldWaitWithoutTheOthersIsAProblemToo) {
  Timeline trace;
  for (int i = 0; i < 50; ++i) {
    trace.launch(0).sync(lasting(200)).from(0x200).unnecessary().work(10);
    trace.call("cuStreamSynchronize", lasting(0), 0.3).from(0x300).unnecessary().without_wait().work(300);
    trace.call("cuStreamSynchronize", lasting(0), 0.3).from(0x400).unnecessary().without_wait().work(20);
  }
  TemporaryFolder folder;
  write_session(folder.path(), trace, {.launches_traced = true}, 27'000);
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok()) << report.error().c_str();
  ASSERT_EQ(report->problems.size(), 2u);
  EXPECT_EQ(report->problems[0].operation, "cuCtxSynchronize");
  EXPECT_EQ(report->problems[1].operation, "cuStreamSynchronize");
  EXPECT_EQ(report->problems[1].count, 50u);
  EXPECT_EQ(report->problems[1].waited_s, 0);
  EXPECT_NEAR(report->problems[0].expected_benefit_s, 50 * 10e-6, 60e-6);  // the second waits instead
  ASSERT_TRUE(report->together);
  EXPECT_NEAR(report->together->expected_benefit_s, 50 * 200e-6, 200e-6);
}

TEST(Analyse, ReportOfAWholeSession) {
  TemporaryFolder folder;
  write_session(folder.path(), example(), {}, 200'000);
  auto report = analyse(folder.path(), {.model = Model::paper, .judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok()) << report.error().c_str();
  EXPECT_EQ(report->model, "paper");
  auto replayed = analyse(folder.path(), {.model = Model::replay, .judge = verdicts_by_hand});
  ASSERT_TRUE(replayed.ok());
  EXPECT_EQ(replayed->model, "replay");
  for (const ReportProblem& problem : replayed->problems) {
    ASSERT_TRUE(problem.range);
    EXPECT_LE(problem.range->low_s, problem.expected_benefit_s);
    EXPECT_GE(problem.range->high_s, problem.expected_benefit_s);
    EXPECT_DOUBLE_EQ(problem.range->replay_s, problem.expected_benefit_s);
  }
  EXPECT_DOUBLE_EQ(report->runtime_s, 0.2);
  EXPECT_EQ(report->device_name, "Test Device");
  EXPECT_EQ(report->compute_capability, "9.0");
  EXPECT_EQ(report->synchronizations, 300u);
  EXPECT_EQ(report->transfers, 100u);
  EXPECT_EQ(report->transferred_bytes, 409'600u);
  EXPECT_NEAR(report->waited_s, 100 * 350e-6, 1e-9);
  ASSERT_EQ(report->stages.size(), 4u);
  EXPECT_EQ(report->stages[1].name, "tracing");
  EXPECT_DOUBLE_EQ(report->stages[1].overhead, 1);

  ASSERT_EQ(report->problems.size(), 3u);
  const ReportProblem& unnecessary = report->problems[0];
  EXPECT_EQ(unnecessary.id, "P1");
  EXPECT_EQ(unnecessary.kind, "unnecessary-synchronization");
  EXPECT_EQ(unnecessary.operation, "cuCtxSynchronize");
  EXPECT_EQ(unnecessary.count, 100u);
  EXPECT_NEAR(unnecessary.expected_benefit_s, 100 * 200e-6, 1e-9);  // 310 of CPU work behind each
  EXPECT_NEAR(unnecessary.expected_benefit_percent, 10, 1e-6);
  ASSERT_EQ(unnecessary.stack.size(), 2u);
  EXPECT_EQ(unnecessary.stack[0].offset, 0x200u);
  EXPECT_FALSE(unnecessary.first_use.has_value());

  const ReportProblem& misplaced = report->problems[1];
  EXPECT_EQ(misplaced.kind, "misplaced-synchronization");
  EXPECT_NEAR(misplaced.expected_benefit_s, 100 * 100e-6, 1e-9);
  ASSERT_TRUE(misplaced.first_use.has_value());
  EXPECT_NEAR(misplaced.first_use->after_s.value_or(-1), 100e-6, 1e-12);
  EXPECT_EQ(misplaced.first_use->stack.at(0).offset, 0x940u);

  const ReportProblem& duplicate = report->problems[2];
  EXPECT_EQ(duplicate.kind, "duplicate-transfer");
  EXPECT_EQ(duplicate.count, 99u);
  EXPECT_EQ(duplicate.instances, 100u);
  EXPECT_EQ(duplicate.bytes, 99u * 4096);
  EXPECT_NEAR(duplicate.expected_benefit_s, 99 * 30e-6, 1e-9);  // its wait is needed, and stays
  EXPECT_EQ(duplicate.duplicate_of.at(0).offset, 0x100u);

  ASSERT_FALSE(report->groups.empty());
  EXPECT_EQ(report->groups[0].title, "Fold on cuCtxSynchronize");
  EXPECT_EQ(report->groups[0].members, (std::vector<std::string>{"P1", "P2"}));
  EXPECT_NEAR(report->groups[0].expected_benefit_percent, 15, 1e-6);
  ASSERT_EQ(report->functions.size(), 2u);
  EXPECT_EQ(report->functions[0].operation, "cuCtxSynchronize");
  EXPECT_EQ(report->functions[0].count, 200u);
  EXPECT_NEAR(report->functions[0].expected_benefit_s, 100 * 300e-6, 1e-9);
}

TEST(Analyse, WhatIsSavedInsideTheMainLoopIsSaid) {
  // Needed waits over and over, and behind the loop one that is needless.
  Timeline trace;
  for (int i = 0; i < 50; ++i)
    trace.launch(10).from(0x100).sync(lasting(200)).from(0x200).first_use(after(0)).work(10);
  trace.launch(10).from(0x300).sync(lasting(300)).from(0x400).unnecessary().work(1000);
  TemporaryFolder outside, inside;
  write_session(outside.path(), trace);
  auto report = analyse(outside.path(), {.model = Model::paper, .judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok() && report->together && report->main_loop);
  EXPECT_EQ(report->main_loop->iterations, 50u);
  EXPECT_NEAR(report->together->expected_benefit_s, 300e-6, 1e-9);
  EXPECT_EQ(report->main_loop->expected_benefit_s, 0);
  // 20 us are saved in each iteration, and 100 behind the loop.
  Timeline both;
  for (int i = 0; i < 50; ++i)
    both.launch(10).from(0x100).sync(lasting(20)).from(0x200).unnecessary().work(20);
  both.launch(10).from(0x300).sync(lasting(100)).from(0x400).unnecessary().work(1000);
  write_session(inside.path(), both);
  auto of_both = analyse(inside.path(), {.model = Model::paper, .judge = verdicts_by_hand});
  ASSERT_TRUE(of_both.ok() && of_both->together && of_both->main_loop);
  EXPECT_NEAR(of_both->together->expected_benefit_s, 50 * 20e-6 + 100e-6, 1e-9);
  EXPECT_NEAR(of_both->main_loop->expected_benefit_s, 50 * 20e-6, 1e-9);
}

TEST(Analyse, KeysAreTheSameInEverySession) {
  TemporaryFolder first, second;
  write_session(first.path(), example(), {.pid = 100});
  write_session(second.path(), example(), {.pid = 777, .start_ns = 99});
  auto a = analyse(first.path(), {.judge = verdicts_by_hand}),
       b = analyse(second.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->problems.size(), b->problems.size());
  for (size_t i = 0; i < a->problems.size(); ++i) EXPECT_EQ(a->problems[i].key, b->problems[i].key);
  EXPECT_NE(a->problems[0].key, a->problems[1].key);
}

TEST(Analyse, ThresholdDecidesAboutMisplacedOnes) {
  TemporaryFolder folder;
  write_session(folder.path(), example(), {}, 200'000);
  const auto benefit_of_moves = [&](double threshold) {
    auto report = analyse(folder.path(), {.threshold_percent = threshold, .judge = verdicts_by_hand});
    double benefit_s = 0;
    for (const ReportProblem& problem : report->problems)
      if (problem.kind == "misplaced-synchronization") benefit_s += problem.expected_benefit_s;
    return std::pair(benefit_s, report->gpu_phase_s);
  };
  const auto [benefit_s, phase_s] = benefit_of_moves(0);
  ASSERT_GT(benefit_s, 0);
  ASSERT_LT(phase_s, 0.2) << "the run is longer than the time in which the GPU is used, which counts";
  const double percent = 100 * benefit_s / phase_s;
  EXPECT_EQ(benefit_of_moves(0.99 * percent).first, benefit_s);
  EXPECT_EQ(benefit_of_moves(1.01 * percent).first, 0);
}

TEST(Analyse, PlainRunIsTheBaseOfPercentages) {
  TemporaryFolder folder;
  Session session = write_session(folder.path(), example(), {}, 200'000);
  session.runs.insert(session.runs.begin(), {.name = "plain", .state = "complete", .runtime_s = 0.1});
  ASSERT_TRUE(write_session(folder.path(), session).ok());
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok());
  EXPECT_DOUBLE_EQ(report->runtime_s, 0.1);
  EXPECT_NEAR(report->problems[0].expected_benefit_percent, 20, 1e-6);
  EXPECT_DOUBLE_EQ(report->stages[1].overhead, 2);
}

TEST(Analyse, WhichCallsWereLookedAtInPartIsSaid) {
  TemporaryFolder folder;
  Timeline trace;
  for (int i = 0; i < 3; ++i) trace.copy("cuMemcpyHtoD_v2", 4096, lasting(5), 10).from(0x100).needed(kOrder);
  for (int i = 0; i < 1234; ++i)
    trace.copy("cuMemcpyHtoD_v2", 4096, lasting(5), 10).from(0x100).needed(kOverBudget).left_out();
  trace.copy("cuMemcpyDtoH_v2", 4096, lasting(5), 10).from(0x200).needed(kOverBudget).left_out().work(5);
  write_session(folder.path(), trace);
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(has_notice(
      *report,
      "memory-tracing: --max-overhead 3 was reached, and later calls were not judged (judged were 3 of 1,237 of "
      "cuMemcpyHtoD at "))
      << all_notices(*report);
  EXPECT_TRUE(has_notice(*report, ", 0 of 1 of cuMemcpyDtoH at ")) << all_notices(*report);
  EXPECT_TRUE(has_notice(*report, "1,235: not looked at, to keep within --max-overhead"))
      << all_notices(*report);
  EXPECT_TRUE(report->problems.empty());
}

TEST(Analyse, LossesAreSaid) {
  TemporaryFolder folder;
  std::vector<uint64_t> drops(kDropCauses);
  drops[static_cast<size_t>(Drop::guards_full)] = 7;
  write_session(
      folder.path(), timeline().sync(lasting(10)).needed(kSmallRange).sync(lasting(1)).work(5),
      {.end = ProcessEnd::running, .drops = drops, .hooks = {HookState::installed, HookState::bytes_differ}});
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(has_notice(*report, "memory-tracing: 7 times: memory could not be guarded"))
      << all_notices(*report);
  EXPECT_TRUE(has_notice(
      *report,
      "2 of 2 synchronizations could not be watched, so they were not judged (1: data smaller than a page (stack, "
      "globals, small heap blocks), and no hardware watchpoint was free: there are four, of 8 bytes each; 1: the program "
      "or the recording ended"))
      << all_notices(*report);
  EXPECT_TRUE(has_notice(*report, "process 100 did not exit normally"));
  EXPECT_TRUE(has_notice(*report, "1 driver function was not hooked (hook 1)"));
  EXPECT_TRUE(report->problems.empty());
}

TEST(Analyse, AProgramOfOneThreadHearsOfNoOthers) {
  TemporaryFolder folder;
  write_session(folder.path(), timeline().sync(lasting(10)).needed(kExposed).work(5));
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(has_notice(*report, "1: their page was not guarded for a while")) << all_notices(*report);
  EXPECT_EQ(all_notices(*report).find("threads"), std::string::npos) << all_notices(*report);
}

TEST(Analyse, DifferentRunsAreSaid) {
  TemporaryFolder folder;
  auto trace = timeline()
                   .sync(lasting(10))
                   .from(0x100)
                   .unnecessary()
                   .sync(lasting(10))
                   .from(0x100)
                   .unnecessary()
                   .work(50);
  Session session = write_session(folder.path(), trace, {}, 100'000);
  session.runs[1].output_difference = session.runs[2].output_difference = "stdout differs at line 3";
  session.runs[3].exit_status = 9;
  ASSERT_TRUE(write_session(folder.path(), session).ok());
  fs::remove_all(folder.path() / "memory-tracing");
  write_process(folder.path() / "memory-tracing", timeline().sync(lasting(10)).from(0x100).unnecessary(),
                {.stage = Stage::memory_tracing});
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(has_notice(*report, "tracing, memory-tracing: stdout differs at line 3; findings may not"));
  EXPECT_TRUE(has_notice(*report, "sync-use: the program's exit status is 9, in the first run it was 0"));
  EXPECT_TRUE(has_notice(*report, "1 of 2 calls of the tracing run are not in")) << all_notices(*report);
}

TEST(Analyse, MissingStagesAreTakenAsFarAsTheyGo) {
  TemporaryFolder folder;
  write_session(folder.path(), example());
  fs::remove_all(folder.path() / "sync-use");
  auto without_4 = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(without_4.ok());
  EXPECT_EQ(without_4->problems.size(), 3u);
  EXPECT_TRUE(has_notice(*without_4, "from the memory-tracing run, whose overhead"));
  fs::remove_all(folder.path() / "memory-tracing");
  auto without_3 = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(without_3.ok());
  EXPECT_TRUE(without_3->problems.empty());
  EXPECT_EQ(without_3->synchronizations, 300u);
  EXPECT_TRUE(has_notice(*without_3, "the memory-tracing run is not there"));
  fs::remove_all(folder.path() / "tracing");
  EXPECT_TRUE(analyse(folder.path(), {.judge = verdicts_by_hand}).ok());
  fs::remove(folder.path() / "session.json");
  EXPECT_FALSE(analyse(folder.path(), {.judge = verdicts_by_hand}).ok());
}

TEST(Analyse, ASessionOfAnotherVersionIsNotComplete) {
  TemporaryFolder folder;
  write_session(folder.path(), example(), {}, 80'000);
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.path().filename() == "process") {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(8);
      file.put(kTraceVersion + 1);
    }
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok()) << report.error().c_str();
  ASSERT_FALSE(report->incomplete.empty());
  EXPECT_NE(report->incomplete.back().find("nothing could be read"), std::string::npos);
}

TEST(Analyse, NoCudaIsOneNotice) {
  TemporaryFolder folder;
  Session session;
  session.runs = {{.name = "baseline", .folder = "baseline", .state = "complete", .runtime_s = 1}};
  ASSERT_TRUE(write_session(folder.path(), session).ok());
  fs::create_directories(folder.path() / "tracing");
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->notices.size(), 1u);
  EXPECT_EQ(report->notices[0].code, "no-cuda");
  EXPECT_TRUE(report->incomplete.empty());
}

TEST(Analyse, SeveralThreadsAreSaid) {
  auto trace = timeline();
  for (int thread : {0, 1})
    trace.on_thread(thread)
        .sync(lasting(10))
        .from(0x100)
        .unnecessary()
        .work(50)
        .sync(lasting(0))
        .needed(kOrder);
  TemporaryFolder folder;
  write_session(folder.path(), trace);
  auto report = analyse(folder.path(), {.model = Model::paper, .judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_NEAR(report->problems[0].expected_benefit_s, 20e-6, 1e-12);
  EXPECT_TRUE(has_notice(*report, "benefits are summed over 2 threads"));
}

TEST(Analyse, DamagedSessionsNeverCrash) {
  TemporaryFolder folder;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fs::remove_all(folder.path() / "s");
    write_session(folder.path() / "s", example());
    std::srand(seed);
    for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "s")) {
      if (!entry.is_regular_file() || entry.path().filename() == "session.json") continue;
      auto size = fs::file_size(entry.path());
      if (std::rand() % 4 == 0)
        fs::resize_file(entry.path(), size = static_cast<size_t>(std::rand()) % (size + 1));
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      for (int flips = std::rand() % 40; flips > 0 && size > 48; --flips) {
        file.seekp(static_cast<std::streamoff>(48 + static_cast<size_t>(std::rand()) % (size - 48)));
        file.put(static_cast<char>(std::rand()));
      }
    }
    EXPECT_TRUE(analyse(folder.path() / "s", {.judge = verdicts_by_hand}).ok());
    (void)waiting_functions(folder.path() / "s" / "tracing");
  }
}

TEST(Analyse, PartsOfSequencesAreGivenAsGroupAndEntries) {
  auto part = part_of_sequence("G12:2-5");
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->group, "G12");
  EXPECT_EQ(part->first, 2u);
  EXPECT_EQ(part->last, 5u);
  for (const char* wrong : {"", "G3", "G3:2", "G3:5-2", "G3:0-2", "G3:1-2x", "P3:1-2", "G3:-1"})
    EXPECT_FALSE(part_of_sequence(wrong).ok()) << wrong;
}

TEST(Analyse, APartOfASequenceIsEstimatedWhenAskedFor) {
  auto trace = timeline();
  for (int i = 0; i < 3; ++i) {
    for (uint64_t place : {0x100, 0x200, 0x300})
      trace.launch(1).sync(lasting(10)).from(place).unnecessary().work(5);
    trace.sync(lasting(1)).from(0x400).needed(kOrder);
  }
  TemporaryFolder folder;
  write_session(folder.path(), trace);
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand});
  ASSERT_TRUE(report.ok());
  ASSERT_TRUE(report->together.has_value());
  std::string sequence, fold;
  for (const ReportGroup& group : report->groups) {
    if (group.grouping == "sequence") sequence = group.id;
    if (group.grouping == "folded-function") fold = group.id;
    if (group.grouping == "sequence") {
      EXPECT_DOUBLE_EQ(group.expected_benefit_s, report->together->expected_benefit_s);
    }
  }
  ASSERT_FALSE(sequence.empty());
  auto asked = analyse(folder.path(), {.parts = {{sequence, 2, 3}}, .judge = verdicts_by_hand});
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked->groups.size(), report->groups.size() + 1);
  EXPECT_EQ(asked->groups.back().grouping, "subsequence");
  EXPECT_EQ(asked->groups.back().members.size(), 2u);
  EXPECT_FALSE(analyse(folder.path(), {.parts = {{sequence, 2, 4}}, .judge = verdicts_by_hand}).ok());
  EXPECT_FALSE(analyse(folder.path(), {.parts = {{fold, 1, 2}}, .judge = verdicts_by_hand}).ok());
  EXPECT_FALSE(analyse(folder.path(), {.parts = {{"G99", 1, 2}}, .judge = verdicts_by_hand}).ok());
}

}  // namespace
}  // namespace diogenes
