// The report's timeline: lanes, findings marked, GPU work placed, and what is merged. Times in microseconds.
#include "analysis/report/timeline.h"

#include <gtest/gtest.h>

#include "analysis/analyse.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

// Round: L(own 4) at 0, its kernel measured to take 40; a needless S from 4 to 52; W8. 10 rounds, and at the end a
// copy that is needed.
Timeline rounds(int count) {
  Timeline trace;
  for (int i = 0; i < count; ++i) {
    const double begin = static_cast<double>(trace.end_ns()) / 1000;
    trace.launch(4).from(0x100).on_gpu(at(begin + 7), lasting(40));
    trace.sync(lasting(48)).from(0x200).unnecessary().work(8);
  }
  return trace;
}

Report analysed(const Timeline& trace, size_t most) {
  TemporaryFolder folder;
  ProcessOptions options{.launches_traced = true};
  write_session(folder.path(), trace, options, 100'000);
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand, .timeline = most});
  EXPECT_TRUE(report.ok()) << report.error().c_str();
  return std::move(*report);
}

TEST(Timeline, IsLeftOutUnlessAskedFor) { EXPECT_FALSE(analysed(rounds(3), 0).timeline); }

TEST(Timeline, HasCallsWithTheirFindingsAndGpuWork) {
  const Report report = analysed(rounds(10), 1000);
  ASSERT_TRUE(report.timeline);
  const ReportTimeline& timeline = *report.timeline;
  EXPECT_EQ(timeline.merged, 0u);
  EXPECT_EQ(timeline.merged_below_s, 0);
  ASSERT_EQ(timeline.processes.size(), 1u);
  ASSERT_GE(timeline.lanes.size(), 1u);
  const ReportLane& thread = timeline.lanes[0];
  EXPECT_EQ(thread.kind, ReportLane::Kind::thread);
  EXPECT_EQ(thread.name, "main thread");
  ASSERT_EQ(thread.intervals.size(), 20u);
  const ReportInterval& launch = thread.intervals[0];
  const ReportInterval& wait = thread.intervals[1];
  EXPECT_EQ(timeline.names.at(launch.name), "cuLaunchKernel");
  EXPECT_EQ(launch.problem, -1);
  EXPECT_EQ(timeline.names.at(wait.name), "cuCtxSynchronize");
  EXPECT_NEAR(wait.end_s - wait.begin_s, 48e-6, 1e-9);
  EXPECT_NEAR(wait.waited_s, 48e-6, 1e-9);
  ASSERT_EQ(wait.problem, 0);
  EXPECT_EQ(report.problems.at(0).operation, "cuCtxSynchronize");
}

ReportTimeline made(size_t events) {
  ReportTimeline timeline;
  timeline.names = {"a", "b"};
  ReportLane& lane = timeline.lanes.emplace_back();
  for (size_t i = 0; i < events; ++i) {
    ReportInterval& one = lane.intervals.emplace_back();
    one.begin_s = static_cast<double>(i) * 1e-6;
    one.busy_s = 0.5e-6;
    one.end_s = one.begin_s + one.busy_s;
    one.waited_s = 0.25e-6;
    one.problem = i % 100 == 7 ? 0 : -1;
    one.name = i % 2;
    if (i == events / 2) {  // a long one, which nothing may hide
      one.busy_s = 900e-6;
      one.end_s = one.begin_s + one.busy_s;
    }
  }
  lane.events = timeline.events = events;
  timeline.duration_s = lane.intervals.back().end_s;
  return timeline;
}

TEST(Timeline, ThinsToWhatIsAskedForAndLosesNoTime) {
  ReportTimeline timeline = made(100'000);
  double busy = 0, problematic = 0;
  for (const ReportInterval& one : timeline.lanes[0].intervals) {
    busy += one.busy_s;
    if (one.problem == 0) problematic += one.busy_s;
  }
  thin(timeline, 1000);
  const auto& left = timeline.lanes[0].intervals;
  EXPECT_LE(left.size(), 1000u);
  EXPECT_GT(left.size(), 400u);
  EXPECT_GT(timeline.merged, 90'000u);
  EXPECT_GT(timeline.merged_below_s, 0);
  double busy_left = 0, problematic_left = 0;
  uint64_t count = 0;
  bool long_one = false;
  for (size_t i = 0; i < left.size(); ++i) {
    busy_left += left[i].busy_s;
    count += left[i].count;
    if (left[i].problem == 0) problematic_left += left[i].busy_s;
    long_one |= left[i].count == 1 && left[i].end_s - left[i].begin_s > 899e-6;
    if (i > 0) {
      EXPECT_LE(left[i - 1].begin_s, left[i].begin_s);
    }
  }
  EXPECT_EQ(count, 100'000u);
  ASSERT_FALSE(timeline.full_at_s.empty());
  for (double begin : timeline.full_at_s) {  // in it, each event as it was
    size_t inside = 0;
    for (const ReportInterval& one : left)
      if (one.begin_s >= begin && one.begin_s < begin + timeline.full_length_s - 1e-9) {
        EXPECT_EQ(one.count, 1u);
        ++inside;
      }
    EXPECT_NEAR(static_cast<double>(inside), timeline.full_length_s * 1e6, 1.5);
  }
  EXPECT_TRUE(long_one);
  EXPECT_NEAR(busy_left, busy, 1e-9);
  EXPECT_NEAR(problematic_left, problematic, 1e-9);
}

TEST(Timeline, LeavesAloneWhatIsSmall) {
  ReportTimeline timeline = made(500);
  thin(timeline, 500);
  EXPECT_EQ(timeline.lanes[0].intervals.size(), 500u);
  EXPECT_EQ(timeline.merged, 0u);
  ReportTimeline empty;
  thin(empty, 10);
  EXPECT_TRUE(empty.lanes.empty());
}

// One thread gives two kernels of 40 and waits once, until 92: the second ended by then.
TEST(Timeline, PlacesGpuWorkBetweenItsCallAndItsWait) {
  TemporaryFolder folder;
  Timeline trace = timeline()
                       .launch(4)
                       .on_gpu(at(7), lasting(40))
                       .launch(4)
                       .on_gpu(at(48), lasting(40))
                       .sync(lasting(84))
                       .unnecessary();
  const ProcessOptions options{.launches_traced = true};
  write_session(folder.path(), trace, options, 1'000);
  ProcessOptions timed = options;
  timed.stage = Stage::gpu_times;
  write_process(folder.path() / "gpu-times", trace, timed);
  auto report = analyse(folder.path(), {.judge = verdicts_by_hand, .timeline = 100});
  ASSERT_TRUE(report.ok()) << report.error().c_str();
  ASSERT_TRUE(report->timeline);
  ASSERT_TRUE(report->timeline->gpu_times);
  ASSERT_EQ(report->timeline->lanes.size(), 2u);
  const ReportLane& thread = report->timeline->lanes[0];
  const ReportLane& stream = report->timeline->lanes[1];
  EXPECT_EQ(stream.kind, ReportLane::Kind::stream);
  ASSERT_EQ(stream.intervals.size(), 2u);
  const double begin = thread.intervals[0].begin_s;
  EXPECT_NEAR(stream.intervals[0].begin_s - begin, 4e-6, 0.1e-6);
  EXPECT_NEAR(stream.intervals[0].end_s - begin, 44e-6, 0.1e-6);
  EXPECT_NEAR(stream.intervals[1].begin_s - begin, 44e-6, 0.1e-6);
  EXPECT_NEAR(stream.intervals[1].end_s - begin, 84e-6, 0.1e-6);
  EXPECT_EQ(report->timeline->names.at(stream.intervals[0].name), "kernel");
}

}  // namespace
}  // namespace diogenes
