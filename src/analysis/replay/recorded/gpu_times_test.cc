// GPU times of the run gpu-times: joined to stage 2, and what they say of the machine. Times in microseconds.
#include "analysis/replay/recorded/gpu_times.h"

#include <gtest/gtest.h>

#include "analysis/replay/recorded/make_schedule.h"
#include "analysis/replay/replay.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

struct Joined {
  explicit Joined(const Timeline& tracing, const Timeline& gpu_run) {
    ProcessOptions options{.launches_traced = true};
    write_process(folder.path() / "2", tracing, options);
    options.stage = Stage::gpu_times;
    write_process(folder.path() / "gpu", gpu_run, options);
    auto first = load_run(folder.path() / "2", sites, Load::operations);
    auto timed = load_run(folder.path() / "gpu", sites, Load::gpu_times);
    run = std::move(*first);
    found = join_gpu_times(run, *timed, sites, kAssumedMachine);
  }
  double gpu_us(size_t operation) const {
    return static_cast<double>(run.processes[0].threads[0].operations[operation].gpu.count) / 1000;
  }
  TemporaryFolder folder;
  SiteTable sites;
  Run run;
  GpuTimesFound found;
};

// L(own 4) at 0, starts 3 behind its return at 7, runs 40; S waits from 4 to 52: wake-up 5. L at 60, starts
// at 67; S until 92.
Timeline two_kernels() {
  return timeline()
      .launch(4)
      .on_gpu(at(7), lasting(40))
      .sync(lasting(48))
      .at(at(60))
      .launch(4)
      .on_gpu(at(67), lasting(20))
      .sync(lasting(28));
}

TEST(GpuTimes, GoToTheSameOccurrencesAndTellTheLatencies) {
  Joined joined(two_kernels(), two_kernels());
  EXPECT_EQ(joined.gpu_us(0), 40);
  EXPECT_EQ(joined.gpu_us(2), 20);
  EXPECT_EQ(joined.gpu_us(1), 0.001 * -1);  // a wait has none
  EXPECT_EQ(joined.found.known, 2u);
  EXPECT_EQ(joined.found.unknown, 0u);
  EXPECT_EQ(joined.found.machine.launch_latency, 3000);
  EXPECT_EQ(joined.found.machine.wake_up, 5000);
  EXPECT_EQ(joined.found.machine.gap, kAssumedMachine.gap);  // no operation had to wait for another one
}

// Behind 30 and 10: the nearest first.
TEST(GpuTimes, CallsThatWereLeftOutTakeTurnsWithThoseBefore) {
  auto trace = timeline()
                   .launch(1)
                   .from(0x10)
                   .on_gpu(at(1), lasting(30))
                   .launch(1)
                   .from(0x10)
                   .on_gpu(at(31), lasting(10));
  for (int i = 0; i < 3; ++i) trace.launch(1).from(0x10).flags(kUntimed);
  trace.sync(lasting(90));
  Joined joined(trace, trace);
  EXPECT_EQ(joined.gpu_us(0), 30);
  EXPECT_EQ(joined.gpu_us(1), 10);
  EXPECT_EQ(joined.gpu_us(2), 10);
  EXPECT_EQ(joined.gpu_us(3), 30);
  EXPECT_EQ(joined.gpu_us(4), 10);
  EXPECT_EQ(joined.found.unknown, 0u);
}

// Whose times are left of launches that took 10, 10, 10, 700, 10, 900 and 800 us, one that was left out, and one of 10 us.
std::vector<bool> left_of(const char* function) {
  auto trace = timeline();
  const auto call = [&] { trace.call(function, lasting(0), 1).from(0x10); };
  for (const int us : {10, 10, 10, 700, 10, 900, 800}) {
    call();
    trace.on_gpu(at(1), lasting(us));
  }
  call();
  trace.flags(kUntimed);
  call();
  trace.on_gpu(at(2000), lasting(10));
  TemporaryFolder folder;
  write_process(folder.path() / "gpu", trace, {.stage = Stage::gpu_times, .launches_traced = true});
  SiteTable sites;
  auto run = load_run(folder.path() / "gpu", sites, Load::gpu_times);
  leave_out_late_ends(*run, sites);
  const Thread& thread = run->processes[0].threads[0];
  std::vector<bool> left;
  for (size_t i = 0; i < thread.operations.size(); ++i) {
    left.push_back(thread.gpu_times[i].end.count >= 0);
    EXPECT_NE(left.back(), thread.operations[i].has(kUntimed)) << i;
  }
  EXPECT_EQ(thread.gpu_pieces.size(), static_cast<size_t>(std::count(left.begin(), left.end(), true)));
  return left;
}

// The last two before the one that was left out are late. The one of 700 is not: the next was recorded, too.
TEST(GpuTimes, AGraphsEndThatWasToldWhenRecordsBeganAgainIsNone) {
  EXPECT_EQ(left_of("cuGraphLaunch"),
            (std::vector<bool>{true, true, true, true, true, false, false, false, true}));
  EXPECT_EQ(left_of("cuLaunchKernel"),
            (std::vector<bool>{true, true, true, true, true, true, true, false, true}));
}

// A kernel that gets shorter: 30, four that were left out, 10, two that were left out. All seven by the mean would be 140.
TEST(GpuTimes, CallsThatWereLeftOutAreAsLongAsTheirNeighbours) {
  auto trace = timeline().launch(1).from(0x10).on_gpu(at(1), lasting(30));
  for (int i = 0; i < 4; ++i) trace.launch(1).from(0x10).flags(kUntimed);
  trace.launch(1).from(0x10).on_gpu(at(31), lasting(10));
  for (int i = 0; i < 2; ++i) trace.launch(1).from(0x10).flags(kUntimed);
  Joined joined(trace.sync(lasting(90)), trace);
  const std::vector<int64_t> wanted = {30, 30, 30, 10, 10, 10, 10, 10};
  for (uint32_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(joined.gpu_us(i), wanted[i]) << i;
}

// What was left out at the very start is as long as what comes first.
TEST(GpuTimes, CallsThatWereLeftOutAtTheStartTakeThoseBehind) {
  auto trace = timeline();
  for (int i = 0; i < 2; ++i) trace.launch(1).from(0x10).flags(kUntimed);
  trace.launch(1).from(0x10).on_gpu(at(5), lasting(7)).launch(1).from(0x10).on_gpu(at(12), lasting(9));
  trace.launch(1).from(0x20).flags(kUntimed);  // of a path that nothing is known of
  Joined joined(trace.sync(lasting(90)), trace);
  EXPECT_EQ(joined.gpu_us(0), 9);
  EXPECT_EQ(joined.gpu_us(1), 7);
  EXPECT_EQ(joined.found.unknown, 1u);
}

TEST(GpuTimes, ReplayTakesThemOverWhatTheWaitsTell) {
  // L L S: 30 and 10 on the GPU, which the waits cannot tell apart. Without the first wait, the CPU is at its
  // 2nd launch at 12: begins at 30 + gap 0, whatever came before.
  auto trace = timeline().launch(1).on_gpu(at(1), lasting(30)).launch(1).on_gpu(at(31), lasting(10));
  trace.sync(lasting(39)).work(10).launch(1).on_gpu(at(52), lasting(5)).sync(lasting(5));
  Joined joined(trace, trace);
  EXPECT_EQ(joined.gpu_us(0), 30);
  EXPECT_EQ(joined.gpu_us(1), 10);
  EventGraph graph = build_graph(joined.run, joined.sites);
  Replay replay(joined.run, joined.sites, graph, {.machine = joined.found.machine, .calibrated = true});
  Change change{.operation = 2, .wait = 0, .wait_change = Change::Wait::removed};
  Estimate found = replay.estimate({change});
  // Recorded: 41 + 10 + 1 + 5 = 57. Changed: 2 + 10 + 1 = 13, GPU busy until 41, then 5: 46.
  EXPECT_NEAR(static_cast<double>(found.benefit.count), 11'000, 1);
  EXPECT_EQ(found.low.count, found.high.count);
  EXPECT_EQ(found.reason, "");
}

TEST(GpuTimes, KernelsAndCopiesHaveGapsOfTheirOwn) {
  // K0 at 4 for 30, K1 1 behind it, a copy 6 behind that, K2 8 behind the copy.
  auto trace = timeline().launch(2).on_gpu(at(4), lasting(30)).launch(2).on_gpu(at(35), lasting(20));
  trace.copy("cuMemcpyDtoHAsync_v2", 64, lasting(0), 2).without_wait().on_gpu(at(61), lasting(5));
  trace.launch(2).on_gpu(at(74), lasting(10)).sync(lasting(78));
  Joined joined(trace, trace);
  EXPECT_EQ(joined.found.machine.gap, 1'000);
  EXPECT_EQ(joined.found.machine.gap_to_copy, 6'000);
  EXPECT_EQ(joined.found.machine.gap_across, 8'000);
}

// Copies behind a wait alone. Without it one would come no sooner: a launch of 2, a wake-up of 1, and 4.
TEST(GpuTimes, ACopyThatWasNeverGivenToAGpuAtWorkComesNoSoonerWithoutTheWait) {
  auto trace = timeline();
  for (double begin : {0.0, 100.0, 200.0}) {
    trace.at(at(begin)).launch(2).on_gpu(at(begin + 4), lasting(30)).sync(lasting(33));
    trace.copy("cuMemcpyDtoH_v2", 64, lasting(20), 5).on_gpu(at(begin + 42), lasting(10));
  }
  Joined joined(trace, trace);
  EXPECT_EQ(joined.found.machine.launch_latency, 2'000);
  EXPECT_EQ(joined.found.machine.wake_up, 1'000);
  EXPECT_EQ(joined.found.machine.gap_to_copy, 7'000);
}

TEST(GpuTimes, KernelsAndCopiesStartWithLatenciesOfTheirOwn) {
  // Kernels start 3 behind their call's return, copies 2 before it.
  auto trace = timeline();
  for (double begin : {0.0, 200.0, 400.0}) {
    trace.at(at(begin)).launch(4).on_gpu(at(begin + 7), lasting(40)).sync(lasting(44));
    trace.at(at(begin + 100)).copy("cuMemcpyHtoDAsync_v2", 4096, lasting(0), 4).without_wait();
    trace.on_gpu(at(begin + 102), lasting(20)).sync(lasting(19));
  }
  Joined joined(trace, trace);
  const replay::Machine& machine = joined.found.machine;
  EXPECT_EQ(machine.launch_latency, 3'000);
  EXPECT_TRUE(machine.copies_apart);
  EXPECT_EQ(machine.copy_latency, -2'000);
  replay::Node copy{.own = 4'000, .work = replay::Work::to_device},
      kernel{.own = 4'000, .work = replay::Work::kernel};
  EXPECT_EQ(replay::handover(machine, copy).before, 2'000);
  EXPECT_EQ(replay::handover(machine, copy).latency, 0);
  EXPECT_EQ(replay::handover(machine, kernel).before, 4'000);
  EXPECT_EQ(replay::handover(machine, kernel).latency, 3'000);
}

TEST(Schedule, WhatTheHooksAddInsideACallIsNoneOfItsTime) {
  // A launch of 3 and a wait with own 1 that finds all done, 20 of work around them; the hooks add 0.1 inside
  // a call, 0.4 inside one that waits, and 2 behind each. Removing the wait gains 0.6, not 1.
  auto trace = timeline().work(20).launch(3).work(20).sync(lasting(0), 1).work(20);
  TemporaryFolder folder;
  write_process(
      folder.path(), trace,
      {.hook_cost_ns = 2'000, .inside_call_ns = 100, .inside_waiting_call_ns = 400, .launches_traced = true});
  SiteTable sites;
  auto run = load_run(folder.path(), sites, Load::operations);
  replay::Schedule schedule = replay::schedule_of(run->processes[0], sites);
  const replay::ThreadSchedule& thread = schedule.threads.at(0);
  EXPECT_EQ(thread.nodes.at(0).own, 2'900);
  EXPECT_EQ(thread.nodes.at(1).own, 600);
  EXPECT_EQ(thread.nodes.at(1).recording, 2'100u);
  EXPECT_EQ(thread.recording_behind, 2'400u);
  EventGraph graph = build_graph(*run, sites);
  Change change{.operation = 1, .wait = 0, .wait_change = Change::Wait::removed};
  change.call_removed = true;
  Replay replay(*run, sites, graph, {.machine = {}, .calibrated = true});
  EXPECT_EQ(replay.estimate({change}).benefit.count, 600);
}

TEST(GpuTimes, AThreadThatLostItsProcessorTellsNoWakeUp) {
  // Kernels of 10 that start at once; the waits return so long behind their ends.
  auto with_wake_ups = [](const std::vector<double>& times) {
    auto trace = timeline();
    for (double time : times)
      trace.launch(1).on_gpu(at(trace.end_ns() / 1e3), lasting(10)).sync(lasting(10 + time)).work(5);
    return Joined(trace, trace).found.machine.wake_up;
  };
  EXPECT_EQ(with_wake_ups({2, 2, 2}), 2'000);
  EXPECT_EQ(with_wake_ups({2, 45, 2}), 2'000);  // 45 is more than 10 times 2, and 10
  EXPECT_EQ(with_wake_ups({2, 5'000, 4}), 3'000);
  EXPECT_EQ(with_wake_ups({5'000}), kAssumedMachine.wake_up);
}

TEST(GpuTimes, WhatTookLongInTheOtherRunAloneIsCutToWhatTheWaitsTell) {
  // Three rounds of a copy of 20, a kernel of 100 and a wait. In the run that told the times, the first copy
  // took 300: the first touch of its memory.
  auto rounds = [](double first) {
    auto trace = timeline();
    for (int i = 0; i < 3; ++i) {
      double begin = 1000.0 * i, copy = i == 0 ? first : 20;
      trace.at(at(begin)).copy("cuMemcpyHtoDAsync_v2", 4096, lasting(0), 0).from(0x100);
      trace.without_wait().on_gpu(at(begin), lasting(copy)).launch(0).on_gpu(at(begin + copy), lasting(100));
      trace.sync(lasting(copy + 100)).work(30);
    }
    return trace;
  };
  Joined joined(rounds(20), rounds(300));
  EXPECT_EQ(joined.gpu_us(0), 300);
  EventGraph graph = build_graph(joined.run, joined.sites);
  Replay replay(joined.run, joined.sites, graph, {.machine = {}, .calibrated = true});
  EXPECT_LT(replay.mismatch(), 0.001);
  // Without the first wait there is the work of 30 beside the GPU, and 850 more until the second round.
  Change change{.operation = 2, .wait = 0, .wait_change = Change::Wait::removed};
  EXPECT_NEAR(static_cast<double>(replay.estimate({change}).benefit.count), 120'000, 100);
}

TEST(GpuTimes, AWaitThatFoundAllDoneAbsorbsAllTheSame) {
  // Case 3 of the study, its second wait back before the driver's wait function: L100 S(100) W2 S W100.
  // Without the first wait, the second one waits for 98.
  auto trace = timeline().launch(0).on_gpu(at(0), lasting(100)).sync(lasting(100)).work(2);
  trace.call("cuStreamSynchronize", lasting(0)).without_wait().work(100);
  Joined joined(trace, trace);
  EventGraph graph = build_graph(joined.run, joined.sites);
  Replay replay(joined.run, joined.sites, graph, {.machine = {}, .calibrated = true});
  Change change{.operation = 1, .wait = 0, .wait_change = Change::Wait::removed};
  EXPECT_NEAR(static_cast<double>(replay.estimate({change}).benefit.count), 2'000, 1);
}

TEST(GpuTimes, ASynchronizationThatIsGoneWaitsNoMoreEvenIfItDidNotThen) {
  // The same, with both waits removed: W2 W100 beside the kernel. 202 -> 102.
  auto trace = timeline().launch(0).on_gpu(at(0), lasting(100)).sync(lasting(100)).work(2);
  trace.call("cuStreamSynchronize", lasting(0)).without_wait().work(100);
  Joined joined(trace, trace);
  EventGraph graph = build_graph(joined.run, joined.sites);
  Replay replay(joined.run, joined.sites, graph, {.machine = {}, .calibrated = true});
  Change first{.operation = 1, .wait = 0, .wait_change = Change::Wait::removed};
  Change second{.operation = 2, .wait = 1, .call_removed = true};
  EXPECT_NEAR(static_cast<double>(replay.estimate({first, second}).benefit.count), 100'000, 1);
}

TEST(GpuTimes, AnOperationWithoutACounterpartGetsItsSitesMedian) {
  auto tracing = timeline(), gpu_run = timeline();
  for (int i = 0; i < 4; ++i) tracing.launch(2).from(0x1000).sync(lasting(30)).from(0x2000);
  for (int i = 0; i < 3; ++i) {
    gpu_run.launch(2).from(0x1000).on_gpu(at(40 * i), lasting(20 + i)).sync(lasting(30)).from(0x2000);
  }
  Joined joined(tracing, gpu_run);
  EXPECT_EQ(joined.gpu_us(4), 22);
  EXPECT_EQ(joined.gpu_us(6), 21);
  EXPECT_EQ(joined.found.known, 4u);
}

TEST(GpuTimes, NoneRecordedIsNoneKnown) {
  auto trace = timeline().launch(2).sync(lasting(30));
  Joined joined(trace, trace);
  EXPECT_EQ(joined.found.known, 0u);
  EXPECT_LT(joined.gpu_us(0), 0);
}

TEST(GpuTimes, CallsOfVaryingLengthStartTheirWorkSoLongAfterTheirBegin) {
  // Starts 6 after the begin, whether the call takes 4, 9 or 20.
  auto trace = timeline();
  double begin = 0;
  for (double own : {4.0, 9.0, 20.0, 4.0, 15.0}) {
    trace.at(at(begin)).launch(own).on_gpu(at(begin + 6), lasting(40)).sync(lasting(46 - own));
    begin += 100;
  }
  Joined joined(trace, trace);
  EXPECT_EQ(joined.found.machine.launch_from_begin, 6000);
}

}  // namespace
}  // namespace diogenes
