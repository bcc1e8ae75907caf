// Parts that programs mark. Times in microseconds.
#include "analysis/program/profiled_span.h"

#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

struct Marked {
  explicit Marked(const Timeline& trace) {
    load(trace);
    part = mark_what_is_outside(run, sites);
  }
  // With NVTX ranges: begins (1) and ends (-1), in microseconds.
  Marked(const Timeline& trace, std::initializer_list<std::pair<int64_t, int>> ranges) {
    load(trace);
    for (auto [us, change] : ranges)
      run.processes[0].range_marks.push_back({{ProcessOptions{}.start_ns + us * 1000}, change > 0});
    part = mark_what_is_outside_ranges(run);
  }
  void load(const Timeline& trace) {
    write_process(folder.path() / "2", trace, {.launches_traced = true});
    auto read = load_run(folder.path() / "2", sites, Load::operations);
    run = std::move(*read);
  }
  // Of each operation: o outside, i inside.
  std::string places(size_t thread = 0) const {
    std::string text;
    for (const Operation& operation : run.processes[0].threads[thread].operations)
      text += operation.outside ? 'o' : 'i';
    return text;
  }
  TemporaryFolder folder;
  SiteTable sites;
  Run run;
  std::optional<ProfiledSpan> part;
};

Timeline& start(Timeline& trace) { return trace.call("cuProfilerStart", lasting(0), 1); }
Timeline& stop(Timeline& trace) { return trace.call("cuProfilerStop", lasting(0), 1); }

TEST(ProfiledSpan, IsNotThereWithoutAStart) {
  Timeline trace = timeline().sync(lasting(10));
  stop(trace);
  const Marked marked(trace);
  EXPECT_FALSE(marked.part);
  EXPECT_EQ(marked.places(), "ii");
}

TEST(ProfiledSpan, LiesBetweenStartAndStop) {
  Timeline trace = timeline().sync(lasting(10));
  start(trace).sync(lasting(20)).work(5);
  stop(trace).sync(lasting(30));
  const Marked marked(trace);
  ASSERT_TRUE(marked.part);
  EXPECT_EQ(marked.part->times, 1u);
  EXPECT_EQ(marked.part->time.count, 25'000);
  EXPECT_EQ(marked.places(), "ooioo") << "the marks themselves are outside";
}

TEST(ProfiledSpan, MayBeEnteredSeveralTimesAndLeftOpen) {
  Timeline trace = timeline();
  start(trace).sync(lasting(20));
  start(trace);  // once more: no new part
  stop(trace).sync(lasting(30));
  stop(trace);
  start(trace).sync(lasting(40));
  const Marked marked(trace);
  ASSERT_TRUE(marked.part);
  EXPECT_EQ(marked.part->times, 2u);
  EXPECT_EQ(marked.part->time.count, 20'000 + 1'000 + 40'000);
  EXPECT_EQ(marked.places(),
            "oiioooo"
            "i");
}

TEST(ProfiledSpan, HoldsForAllThreads) {
  Timeline trace = timeline();
  trace.at(at(100));
  start(trace).at(at(200));
  stop(trace);
  trace.on_thread(1).at(at(50)).sync(lasting(10)).at(at(150)).sync(lasting(10)).at(at(300)).sync(lasting(10));
  EXPECT_EQ(Marked(trace).places(1), "oio");
}

Result<Report> report_of(const Timeline& trace) {
  TemporaryFolder folder;
  write_session(folder.path(), trace);
  return analyse(folder.path(), {.threshold_percent = 0, .model = Model::paper, .judge = verdicts_by_hand});
}

// 100 of work before, then two needless waits of 20 in a part of 50, and one of 30 behind it, all at one place.
TEST(ProfiledSpan, OnlyWhatLiesInItIsCountedAndGains) {
  Timeline trace = timeline().work(100);
  start(trace);
  for (int i = 0; i < 2; ++i) trace.sync(lasting(20)).from(0x40).unnecessary().work(5);
  stop(trace).sync(lasting(30)).from(0x40).unnecessary();
  auto report = report_of(trace);
  ASSERT_TRUE(report) << report.error().c_str();
  ASSERT_TRUE(report->part);
  EXPECT_DOUBLE_EQ(report->part->seconds, 50e-6);
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_EQ(report->problems[0].count, 2u);
  EXPECT_EQ(report->problems[0].instances, 2u);
  EXPECT_EQ(report->problems[0].why,
            "nothing used the result before a later synchronization waited for the same work");
  EXPECT_DOUBLE_EQ(report->problems[0].waited_s, 40e-6);
  EXPECT_DOUBLE_EQ(report->problems[0].expected_benefit_percent,
                   100 * report->problems[0].expected_benefit_s / 50e-6);
}

// 40 iterations, of which 20 lie in the part.
TEST(ProfiledSpan, HasAMainLoopOfItsOwn) {
  Timeline trace = timeline();
  for (int i = 0; i < 40; ++i) {
    if (i == 10) start(trace);
    if (i == 30) stop(trace);
    trace.launch(1).sync(lasting(20)).from(0x40).unnecessary().work(5);
  }
  auto report = report_of(trace);
  ASSERT_TRUE(report) << report.error().c_str();
  ASSERT_TRUE(report->main_loop);
  EXPECT_EQ(report->main_loop->iterations, 20u);
}

// The wait outside is needed: the place is not unnecessary, but in two of three instances.
TEST(ProfiledSpan, WhatIsNeededOutsideCountsForTheVerdict) {
  Timeline trace = timeline();
  start(trace);
  for (int i = 0; i < 2; ++i) trace.sync(lasting(20)).from(0x40).unnecessary().work(5);
  stop(trace).sync(lasting(30)).from(0x40).first_use(after(1));
  auto report = report_of(trace);
  ASSERT_TRUE(report) << report.error().c_str();
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_EQ(report->problems[0].count, 2u);
  EXPECT_EQ(report->problems[0].instances, 3u);
}

// ---- NVTX ranges

// Synchronizations of 10 at 100, 200, ... 600.
Timeline six_waits() {
  Timeline trace = timeline();
  for (int i = 1; i <= 6; ++i) trace.at(at(100 * i)).sync(lasting(10));
  return trace;
}

TEST(NvtxPart, ReachesFromTheOutermostBeginToItsEnd) {
  const Marked marked(six_waits(), {{150, 1}, {160, 1}, {250, -1}, {350, -1}, {450, 1}, {550, -1}});
  ASSERT_TRUE(marked.part);
  EXPECT_EQ(marked.part->times, 2u);
  EXPECT_EQ(marked.part->time.count, 200'000 + 100'000);
  EXPECT_EQ(marked.places(), "oiioio");
}

TEST(NvtxPart, WithoutAnEndReachesToThatOfTheProcess) {
  const Marked marked(six_waits(), {{50, -1}, {450, 1}});
  ASSERT_TRUE(marked.part);
  EXPECT_EQ(marked.part->time.count, 610'000 - 450'000);
  EXPECT_EQ(marked.places(), "ooooii");
}

// As threads write them, one after the other: at the same time a begin comes first.
TEST(NvtxPart, IsOneWhereRangesOfThreadsOverlap) {
  const Marked marked(six_waits(), {{150, 1}, {350, -1}, {250, 1}, {450, -1}, {450, 1}, {550, -1}});
  ASSERT_TRUE(marked.part);
  EXPECT_EQ(marked.part->times, 1u);
  EXPECT_EQ(marked.places(), "oiiiio");
}

TEST(NvtxPart, IsNotThatOfAProcessWithoutOperations) {
  const Marked marked(timeline(), {{50, 1}});
  EXPECT_FALSE(marked.part);
  EXPECT_EQ(no_such_range("x", marked.run), "no NVTX range 'x' was entered in a process that uses CUDA");
}

TEST(NvtxPart, ThatIsNotThereNamesThoseThatAre) {
  diogenes::Run run;
  run.processes.resize(2);
  EXPECT_EQ(
      no_such_range("x", run),
      "no NVTX range 'x' was entered, and no other was seen: does the program, or a library that it uses, call NVTX 3?");
  run.processes[0].other_ranges = {"load", "step"};
  run.processes[1].other_ranges = {"eval", "step"};
  EXPECT_EQ(no_such_range("x", run),
            "no NVTX range 'x' was entered; ranges that were: 'eval', 'load', 'step'");
  for (int i = 0; i < 20; ++i) run.processes[0].other_ranges.push_back("a" + std::to_string(i));
  const std::string many = no_such_range("x", run);
  EXPECT_TRUE(many.ends_with("'a18', 'a19' and more")) << many;
}

}  // namespace
}  // namespace diogenes
