// The model `replay` on the hand-worked cases of the study of models (column 'benefit') and on its named
// patterns, with figures worked by hand. Units: microseconds; latencies 0 unless said. Every timeline is
// first replayed as recorded, and has to come out as it was.
#include "analysis/replay/replay.h"

#include <gtest/gtest.h>

#include "analysis/replay/simulator.h"
#include "analysis/testing/recorded_schedule.h"

namespace diogenes {
namespace {

using namespace diogenes::replay;
using diogenes::testing::Recorded;

double us(Nanoseconds time) { return static_cast<double>(time.count) / 1000; }

double benefit(const Recorded& run, const std::vector<Edit>& edits, Machine machine = {},
               Setting setting = {}) {
  EXPECT_DOUBLE_EQ(run.end_us({}, machine, setting), run.recorded_us())
      << "the recorded run does not come out";
  return run.benefit_us(edits, machine, setting);
}

void expect_range(const Estimate& found, double low, double estimate, double high) {
  EXPECT_NEAR(us(found.low), low, 0.01);
  EXPECT_NEAR(us(found.benefit), estimate, 0.01);
  EXPECT_NEAR(us(found.high), high, 0.01);
}

Recorded case_1() {
  return Recorded().work(8).launch(18, 1).work(8).sync(10).work(10).launch(8, 1).sync(8).work(4);
}
Recorded case_2() {
  return Recorded().work(8).launch(18, 1).work(8).sync(10).work(1).launch(7, 1).sync(7).work(4);
}
Recorded case_3() { return Recorded().launch(100).sync(100).work(2).sync(0).work(100).launch(10).sync(10); }

TEST(Replay, Case1) {
  EXPECT_DOUBLE_EQ(case_1().recorded_us(), 50);
  EXPECT_DOUBLE_EQ(benefit(case_1(), {Recorded::remove_call(1)}), 10);
}

TEST(Replay, Case2) {
  EXPECT_DOUBLE_EQ(case_2().recorded_us(), 40);
  EXPECT_DOUBLE_EQ(benefit(case_2(), {Recorded::remove_call(1)}), 2);
}

TEST(Replay, Case3AloneAndTogether) {
  EXPECT_DOUBLE_EQ(benefit(case_3(), {Recorded::remove_call(1)}), 2);
  EXPECT_DOUBLE_EQ(benefit(case_3(), {Recorded::remove_call(2)}), 0);
  EXPECT_DOUBLE_EQ(benefit(case_3(), {Recorded::remove_call(1), Recorded::remove_call(2)}), 100);
}

TEST(Replay, Case4Moved) {
  Recorded run = Recorded().launch(30).sync(30).work(110);
  EXPECT_DOUBLE_EQ(benefit(run, {run.move(1, 100)}), 30);
}

TEST(Replay, Case5MovedAsEventAndAsTheSameCall) {
  Recorded run = Recorded().launch(50).sync(50).launch(100).work(50).sync(50);
  EXPECT_DOUBLE_EQ(benefit(run, {run.move(1, 40)}), 0);
  EXPECT_DOUBLE_EQ(benefit(run, {run.move(1, 40)}, {}, {0, true, false}), -10);
}

TEST(Replay, Case6FreeEitherWay) {
  Recorded run = Recorded().launch(50).sync(50, 20).work(30).launch(10).sync(10);
  EXPECT_DOUBLE_EQ(run.recorded_us(), 110);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_wait(1)}), 50);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}), 50);
}

// The CPU works for 50 while the first stream's kernel of 100 runs; the other stream's kernel of 10 comes behind it all the same.
TEST(Replay, TheGpuWaitsInPlaceOfTheCpu) {
  Recorded run = Recorded().on_stream(0).launch(100).sync(100).work(50).on_stream(1).launch(10).sync(10);
  EXPECT_DOUBLE_EQ(run.recorded_us(), 160);
  Edit edit{.thread = 0, .node = 1};
  edit.on_gpu = true;
  EXPECT_DOUBLE_EQ(benefit(run, {edit}, {.kernels_overlap = true}), 50);
}

// The other stream's 100 are not waited for: 10, then the work of 50 beside them.
TEST(Replay, AWaitForTheStreamThatGotWorkLast) {
  Recorded run = Recorded().on_stream(0).launch(100).on_stream(1).launch(10).sync(100).work(50);
  EXPECT_DOUBLE_EQ(run.recorded_us(), 150);
  Edit edit{.thread = 0, .node = 2};
  edit.own_stream = true;
  EXPECT_DOUBLE_EQ(benefit(run, {edit}, {.kernels_overlap = true}), 50);
}

TEST(Replay, Case7AsynchronousDuplicate) {
  Recorded run = Recorded().copy(Work::to_device, 30, 1).copy(Work::to_device, 30, 1).launch(10, 1).sync(68);
  EXPECT_DOUBLE_EQ(run.recorded_us(), 71);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}), 30);
}

TEST(Replay, Case8FullQueueOfTwo) {
  Machine queue_of_2{.queue_depth = 2};
  Recorded run = Recorded().launch(10).launch(10).launch(10, 0, 10).launch(10, 0, 10).sync(20);
  run.launch(10).launch(10).launch(10, 0, 10).launch(10, 0, 10).sync(20);
  EXPECT_DOUBLE_EQ(run.recorded_us(), 80);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(4)}, queue_of_2), 0);
  Estimate without = run.estimate({Recorded::remove_call(4)}, queue_of_2);
  EXPECT_DOUBLE_EQ(us(without.benefit), 0);
}

TEST(WithoutGpuTimes, NoLaunchBetweenIsExact) {
  // Case 3, the first: min(W, B) with B = 2.
  expect_range(case_3().estimate({Recorded::remove_call(1)}), 2, 2, 2);
}

TEST(WithoutGpuTimes, OneLaunchBetweenIsExact) {
  expect_range(case_1().estimate({Recorded::remove_call(1)}), 10, 10, 10);  // min(10, B1 = 11)
  expect_range(case_2().estimate({Recorded::remove_call(1)}), 2, 2, 2);     // min(10, B1 = 2)
}

TEST(WithoutGpuTimes, OneLaunchWithLatencies) {
  // Launch latency 3, wake-up 2, gap 1: c0 = 4. L S(25) W6 L S(15): min(25, B1 + c0 = 10).
  Machine machine{3'000, 2'000, 1'000};
  Recorded run = Recorded().launch(20).sync(25).work(6).launch(10).sync(15);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}, machine), 10);
  expect_range(run.estimate({Recorded::remove_call(1)}, machine), 10, 10, 10);
}

TEST(WithoutGpuTimes, SeveralLaunchesGiveARange) {
  // L100 S(100) W10 L W30 L S(20), recorded end 160. Without the wait the second launch is at 10, the third
  // at 40, and the GPU is at the first until 100; it then works through the two.
  //   by the first: 50 and 0, end 150: 10. By the last: 0 and 20, end 120: 40. Equal: 20 each, end 140: 20.
  Recorded run = Recorded().launch(100).sync(100).work(10).launch(20).work(30).launch(20).sync(20);
  Estimate found = run.estimate({Recorded::remove_call(1)});
  EXPECT_NEAR(us(found.low), 10, 0.01);
  EXPECT_NEAR(us(found.high), 40, 0.01);
  EXPECT_NEAR(us(found.benefit), 20, 0.01);
  EXPECT_NE(found.reason, "");
}

TEST(WithoutGpuTimes, SynchronousCopiesTeachTheTimeOfACopy) {
  // Copies of 1000 and 3000 bytes on an idle GPU take 10 and 30: one of 2000 takes 20, and its duplicate's
  // removal gains its call of 1 and 20 of the wait behind it.
  Recorded run = Recorded().sync(0).copy(Work::to_device, 10, 0, 1000, 10).sync(0);
  run.copy(Work::to_device, 30, 0, 3000, 30).sync(0);
  run.copy(Work::to_device, 20, 1, 2000).copy(Work::to_device, 20, 1, 2000).launch(50, 1).sync(88);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(6)}), 20);
  expect_range(run.estimate({Recorded::remove_call(6)}), 20, 20, 20);
}

TEST(Patterns, TheNextWaitAbsorbsIt) {
  // L40 S(40) W5 L40 S(40): the GPU is busy for 80, whatever the first wait does; only the 5 are gained.
  EXPECT_DOUBLE_EQ(
      benefit(Recorded().launch(40).sync(40).work(5).launch(40).sync(40), {Recorded::remove_call(1)}), 5);
}

TEST(Patterns, TheNextCopyToPageableMemoryWaitsInItsPlace) {
  // L70 C W10 C W30. Each copy takes 5 to hand it over, 20 on the GPU and 100 of copying behind that, 125 in all; the first
  // one waits for the kernel, too, until 190. The end is 190 + 10 + 125 + 30 = 355. Without that wait its data is there at
  // 190 all the same, and the second one's at 310, since it was handed over at 5 + 10 + 5. The end is 340.
  Recorded run = Recorded().launch(70);
  run.copy(Work::to_host, 120, 105, 1 << 20, 85, true).work(10);
  run.copy(Work::to_host, 120, 105, 1 << 20, 20, true).work(30);
  EXPECT_DOUBLE_EQ(run.recorded_us(), 355);
  expect_range(run.estimate_with_gpu_times({Recorded::remove_wait(1)}), 15, 15, 15);
  // W300 in place of W10, with the end at 645: the second copy is handed over at 310, when the first is complete. 310 + 120 + 30.
  Recorded late = Recorded().launch(70);
  late.copy(Work::to_host, 120, 105, 1 << 20, 85, true).work(300);
  late.copy(Work::to_host, 120, 105, 1 << 20, 20, true).work(30);
  expect_range(late.estimate_with_gpu_times({Recorded::remove_wait(1)}), 185, 185, 185);
}

TEST(Patterns, MisplacedAndUsedFarOff) {
  // The use lies 1000 behind a wait of 50: the wait is gone, not 1000.
  Recorded run = Recorded().launch(50).sync(50).work(2000);
  EXPECT_DOUBLE_EQ(benefit(run, {run.move(1, 1000)}), 50);
}

TEST(Patterns, MisplacedWithLaunchesBeforeTheUse) {
  // Case 5's shape, 5 launches: the same call moved waits for all of them.
  Recorded run = Recorded().launch(50).sync(50);
  for (int i = 0; i < 5; ++i) run.launch(20);
  run.work(50).sync(50);
  Estimate found = run.estimate({run.move(1, 40)});
  EXPECT_NEAR(us(found.benefit), 0, 0.01);
  EXPECT_NEAR(us(found.low), -10, 0.01);
}

TEST(Patterns, TwoStreamsExclusiveOrOverlapping) {
  // A100 S(100) B100 S(100), streams of their own: exclusive kernels gain nothing, overlapping ones 100.
  Recorded run = Recorded().on_stream(0).launch(100).sync(100, 0, Waits::stream);
  run.on_stream(1).launch(100).sync(100, 0, Waits::stream).on_stream(0).sync(0, 0, Waits::stream);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}), 0);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}, {.kernels_overlap = true}), 100);
  Estimate found = run.estimate({Recorded::remove_call(1)});
  EXPECT_NEAR(us(found.low), 0, 0.01);
  EXPECT_NEAR(us(found.high), 100, 0.01);
  EXPECT_EQ(found.reason, "whether kernels of different streams can overlap is not known");
}

TEST(Patterns, NextWaitIsOnAnotherStream) {
  // A100 S_A(100) W100, copy on B that waits 10: nothing ever waits for A again but the end.
  Recorded run = Recorded().on_stream(0).launch(100).sync(100, 0, Waits::stream).work(100);
  run.on_stream(1).copy(Work::to_host, 10, 0, 100, 10).work(5);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}), 100);
}

TEST(Patterns, TheOtherThreadTakesLonger) {
  // The main thread gains 50, but joins a thread that ends at 200.
  Recorded run = Recorded().launch(50).sync(50).work(60);
  run.on_thread(1, 0).on_stream(1).work(100).copy(Work::to_host, 100, 0, 8, 100);
  run.on_thread(0).work(100);  // 210; joins at 200
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}), 0);
  Estimate found = run.estimate({Recorded::remove_call(1)});
  EXPECT_NEAR(us(found.benefit), 0, 0.01);
  EXPECT_NEAR(us(found.high), 50, 0.01);
  EXPECT_EQ(found.reason, "threads wait for each other in ways that the tool cannot see");
}

TEST(Patterns, DuplicateCopyOnABusyEngine) {
  // Two streams share the engine: c30 on A, c30 (duplicate) on B, c30 on A, S. 90 -> 60.
  Recorded run =
      Recorded().on_stream(0).copy(Work::to_device, 30, 0).on_stream(1).copy(Work::to_device, 30, 0);
  run.on_stream(0).copy(Work::to_device, 30, 0).sync(90);
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}), 30);
}

TEST(Patterns, IdleWaitsAreWorthTheirCalls) {
  Recorded run;
  std::vector<Edit> edits;
  for (uint32_t i = 0; i < 300; ++i) {
    run.launch(1, 1).work(10).sync(0, 2);
    edits.push_back(Recorded::remove_call(2 * i + 1));
  }
  EXPECT_DOUBLE_EQ(benefit(run, edits), 600);
  Estimate found = run.estimate(edits);
  EXPECT_NEAR(us(found.benefit), 600, 3);
}

TEST(Patterns, FullQueueOf64) {
  // Twice 100 launches of 10 and a wait: 64 of them fit, 36 launches wait in turn. The GPU is never idle.
  Recorded run;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 100; ++i) run.launch(10, 0, i < 64 ? 0 : 10);
    run.sync(640);
  }
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(100)}, {.queue_depth = 64}), 0);
  EXPECT_NEAR(us(run.estimate({Recorded::remove_call(100)}, {.queue_depth = 64}).benefit), 0, 0.2);
}

TEST(Patterns, EventsOrderStreams) {
  // A50, record, B waits for it, B20, S(70): removing the wait on A's stream before it changes nothing on the
  // GPU.
  Recorded run = Recorded().on_stream(0).launch(50).record(0).on_stream(1).wait_event(0).launch(20).sync(70);
  EXPECT_DOUBLE_EQ(benefit(run, {}, {.kernels_overlap = true}), 0);
}

TEST(Patterns, LegacyStreamOrdersTheOthers) {
  Recorded run = Recorded().on_stream(1).launch(50).on_stream(0).launch(20).on_stream(1).launch(30).sync(100);
  Schedule schedule = run.schedule();
  schedule.legacy = 0;
  Machine machine{.kernels_overlap = true};
  EXPECT_EQ(simulate(schedule, run.durations(), machine, {}, {}).end, 100'000);
  machine.legacy_orders = false;  // stream 1 runs its 50 and 30 beside it
  EXPECT_EQ(simulate(schedule, run.durations(), machine, {}, {}).end, 80'000);
}

TEST(Patterns, LegacyStreamDoesNotOrderNonBlockingOnes) {
  // The streams of the test above; the user's is non-blocking: 50 and 30 beside 20. The wait for the default
  // stream is over at 20.
  Recorded run = Recorded().on_stream(1).launch(50).on_stream(0).launch(20).on_stream(1).launch(30);
  run.on_stream(0).sync(20, 0, Waits::stream).work(5);
  Schedule schedule = run.schedule();
  schedule.legacy = 0;
  schedule.independent = {false, true};
  Outcome found = simulate(schedule, run.durations(), {.kernels_overlap = true}, {}, {});
  EXPECT_EQ(found.end, 80'000);
  EXPECT_EQ(found.threads[0], 25'000);
}

// 10 and 100 in two streams; a copy of 5 behind both in the default stream, which is waited for, and 50 on the CPU: 155. In the
// stream of the 10 the copy is done at 15, and the 50 at 65; the 100 are over last.
TEST(Patterns, ACopyGoesToAnotherStream) {
  Recorded run = Recorded().on_stream(1).launch(10).on_stream(2).launch(100).on_stream(0).launch(5);
  run.sync(105, 0, Waits::stream).work(50);
  Schedule schedule = run.schedule();
  schedule.legacy = 0;
  const Machine machine{.kernels_overlap = true};
  EXPECT_EQ(simulate(schedule, run.durations(), machine, {}, {}).end, 155'000);
  const std::vector<Edit> edits = {{.node = 2, .to_stream = 1}, {.node = 3, .own_stream = true}};
  const Outcome found = simulate(schedule, run.durations(), machine, {}, edits);
  EXPECT_EQ(found.threads[0], 65'000);
  EXPECT_EQ(found.end, 100'000);
}

// A kernel of 100 in a blocking stream, of which the time is known; a copy in the default stream is waited for from 0 to 105 in its
// own call, and nobody recorded how long it took: it started behind the kernel, and took 5.
TEST(Patterns, ACopyInTheDefaultStreamTookNoLongerThanFromTheOthersEnd) {
  Recorded run = Recorded().on_stream(1).launch(100).on_stream(0).copy(Work::to_host, 5, 0, 64, 105);
  Schedule schedule = run.schedule();
  schedule.legacy = 0;
  KnownTimes known;
  known.of = {{0, 100'000}, {}};
  known.any = true;
  const Machine machine{.kernels_overlap = true};
  EXPECT_EQ(durations_of(schedule, known, machine, Fill::equal), (std::vector<int64_t>{100'000, 5'000}));
  schedule.independent = {false, true};
  EXPECT_EQ(durations_of(schedule, known, machine, Fill::equal), (std::vector<int64_t>{100'000, 105'000}));
}

TEST(Patterns, AsManyKernelsOverlapAsThereArePlaces) {
  Recorded run = Recorded().on_stream(0).launch(100).on_stream(1).launch(100).on_stream(2).launch(100);
  run.sync(200);
  auto end = [&](uint32_t at_once) {
    Machine machine{.kernels_overlap = true};
    machine.kernels_at_once = at_once;
    return run.end_us({}, machine);
  };
  EXPECT_DOUBLE_EQ(end(0), 100);
  EXPECT_DOUBLE_EQ(end(1), 300);
  EXPECT_DOUBLE_EQ(end(2), 200);
  EXPECT_DOUBLE_EQ(end(3), 100);
}

TEST(Patterns, KernelsWithAPlaceBesideEachOtherAreTakenToOverlap) {
  // As TwoStreamsExclusiveOrOverlapping, on a GPU of 132: 2 x 32 blocks have a place, 100 and 32 have not.
  Recorded run = Recorded().on_stream(0).launch(100).sync(100, 0, Waits::stream);
  run.on_stream(1).launch(100).sync(100, 0, Waits::stream).on_stream(0).sync(0, 0, Waits::stream);
  auto estimate = [&](std::vector<uint32_t> blocks) {
    Schedule schedule = run.schedule();
    schedule.multiprocessors = 132;
    schedule.blocks = std::move(blocks);
    return ProcessReplay(std::move(schedule), {}, {}).estimate(std::vector{Recorded::remove_call(1)});
  };
  expect_range(estimate({32, 32}), 0, 100, 100);
  EXPECT_NEAR(us(estimate({100, 32}).benefit), 0, 0.01);
  EXPECT_NEAR(us(estimate({UINT32_MAX, 32}).benefit), 0, 0.01);
}

TEST(Patterns, KernelsAndCopiesAreFurtherApartThanKernels) {
  // Gap 1, between engines 4: 0 to 10, 14 to 19, 23 to 33, 34 to 44.
  Machine machine{.gap = 1'000};
  machine.gap_to_copy = machine.gap_across = 4'000;
  Recorded run = Recorded().launch(10).copy(Work::to_host, 5, 0).launch(10).launch(10).sync(44);
  EXPECT_DOUBLE_EQ(run.end_us({}, machine), 44);
}

TEST(Replay, ShortWaitsForNothingAreIdleOnes) {
  // On the real driver the first wait behind a copy takes longer than the others, with nothing to wait for.
  Recorded run = Recorded().launch(20).sync(20).work(5).sync(1.5).work(5).sync(0.3).work(5).sync(0.4);
  Schedule schedule = run.schedule();
  EXPECT_EQ(schedule.gpu_operations, 1u) << "no work that was not seen";
  EXPECT_EQ(schedule.idle_wait, 1'500);
  EXPECT_EQ(schedule.idle_cost, 400);
  EXPECT_NEAR(benefit(run, {Recorded::remove_call(2), Recorded::remove_call(3)}), 1.8, 1e-9);
  // Without the launch the first wait finds nothing, and costs what such a wait does.
  EXPECT_NEAR(benefit(run, {Recorded::remove_call(0)}), 19.6, 1e-9);
}

TEST(Replay, AShortWaitLongBehindItsWorkIsAnIdleOne) {
  // The kernel is over at 20, the wait at 100 takes 1.7 all the same. Where the GPU's time is known, all of
  // it is gained, with 0.5 of the call's own.
  Recorded run = Recorded().launch(20).work(100).sync(1.7, 0.5).work(10);
  EXPECT_NEAR(benefit(run, {Recorded::remove_call(1)}), 2.2, 1e-9);
  // A wait of 0.2 behind it shows that not all are so short; it goes on as it was.
  run.sync(0.2).work(10);
  EXPECT_NEAR(benefit(run, {Recorded::remove_call(1)}), 2.2, 1e-9);
}

TEST(Replay, ALongWaitForNothingWaitedForWorkThatWasNotSeen) {
  Recorded run = Recorded().work(5).sync(30).work(5);
  EXPECT_EQ(run.schedule().gpu_operations, 1u);
  EXPECT_DOUBLE_EQ(us(run.estimate({Recorded::remove_call(0)}).benefit), 5);
}

TEST(Replay, ACopyThatItsOwnCallMadeStartsAtOnce) {
  // Pageable memory, nothing left to wait for: 5 of the CPU's time, with no launch latency of 3 behind it.
  Recorded run = Recorded().launch(30).work(3).sync(32).copy(Work::to_device, 0, 5, 1000, 0).work(5);
  Machine machine{3'000, 2'000, 1'000};
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_wait(2)}, machine), 0);
  // Without the wait before it, it waits itself: the kernel ends at 33, and 33 + 1 + 2 is 4 less than 40.
  EXPECT_DOUBLE_EQ(benefit(run, {Recorded::remove_call(1)}, machine), 4);
}

TEST(Replay, CostOfTracingIsTakenOut) {
  // L40 S(36) with 4 of tracing in the work between them; L20 S(20). Untraced, nothing of the 4 is left.
  Recorded run = Recorded().launch(40).work(4).sync(36).work(14).launch(20).work(4).sync(16);
  Schedule schedule = run.schedule();
  for (Node& node : schedule.threads[0].nodes)
    if (&node != schedule.threads[0].nodes.data()) node.recording = 4'000;
  EXPECT_EQ(simulate(schedule, run.durations(), {}, {true, true, true}, {}).end, 70'000);  // 40 + 10 + 20
  EXPECT_EQ(simulate(schedule, run.durations(), {}, {false, true, true}, {}).end, 74'000);
}

TEST(Replay, AMoveGainsNoMoreThanWasWaited) {
  // By its GPU time the kernel ends at 100, but it was waited for until 20. Moved by 60, the wait is 40 of
  // those 100; of what the program does, 20 can be gained. A launch before the use changes nothing in that.
  Recorded run = Recorded().launch(100).sync(20).work(110);
  EXPECT_DOUBLE_EQ(run.benefit_us({run.move(1, 60)}), 60);
  const Estimate found = run.estimate_with_gpu_times({run.move(1, 60)});
  EXPECT_DOUBLE_EQ(us(found.benefit), 20);
  EXPECT_DOUBLE_EQ(us(found.high), 20);
  Recorded given = Recorded().launch(100).sync(20).work(30).launch(5).work(80);
  EXPECT_DOUBLE_EQ(us(given.estimate_with_gpu_times({given.move(1, 60)}).benefit), 20);
}

TEST(Replay, WhatRecordingHidOfAWaitCounts) {
  // 6 of the 10 before the wait are the recording's: untraced the wait takes 26, all gained by a move of 60.
  Recorded run = Recorded().launch(30).work(10).sync(20).work(110);
  expect_range(run.estimate_with_gpu_times({run.move(1, 60)}, {}, 6), 26, 26, 26);
}

TEST(Replay, AMoveWithALaunchBeforeTheUseMayGainMoreThanTheTimeToIt) {
  // A100 S(100) B100, used 10 later, S(90): kernels that overlap both run from the start, 100 are gained.
  Machine overlapping{.kernels_overlap = true, .overlap_seen = true};
  Recorded run = Recorded().on_stream(0).launch(100).sync(100, 0, Waits::stream).on_stream(1).launch(100);
  run.work(10).sync(90, 0, Waits::stream);
  EXPECT_DOUBLE_EQ(benefit(run, {run.move(1, 10)}, overlapping), 100);
  expect_range(run.estimate_with_gpu_times({run.move(1, 10)}, overlapping), 100, 100, 100);
}

// Waits of 10, 20 and 30, each with work of 100 behind it that hides the kernel: 60 are gained.
Recorded three_waits(bool one_site) {
  Recorded run;
  for (uint32_t i = 0; i < 3; ++i)
    run.at_site(one_site ? 0 : i).launch(10 * (i + 1)).sync(10 * (i + 1)).work(100);
  return run;
}

TEST(Replay, TheRangeHoldsTwoStandardErrorsOfTheInstances) {
  // Around their mean of 20 they lie at -10, 0 and 10: variance 100, of the sum 300, two standard
  // errors 34.64.
  const std::vector<Edit> all = {Recorded::remove_call(1), Recorded::remove_call(3),
                                 Recorded::remove_call(5)};
  const Estimate found = three_waits(true).estimate_with_gpu_times(all);
  expect_range(found, 60 - 34.64, 60, 60 + 34.64);
  EXPECT_EQ(found.reason, "the calls differ from each other");
  // Of one instance nothing is known, and sites do not differ by chance.
  expect_range(three_waits(true).estimate_with_gpu_times({Recorded::remove_call(3)}), 20, 20, 20);
  expect_range(three_waits(false).estimate_with_gpu_times(all), 60, 60, 60);
}

TEST(Replay, WhatHooksAddInsideIsKnownByAndLarge) {
  // Two calls of 5 with nothing to wait for, after 1 was taken out of each.
  Recorded run = Recorded().work(10).sync(0, 5).work(10).sync(0, 5).work(10).with_hooks_inside(1);
  const Estimate found = run.estimate_with_gpu_times({Recorded::remove_call(0), Recorded::remove_call(1)});
  expect_range(found, 8, 10, 12);
  EXPECT_EQ(found.reason, "the calls are so short that tracing makes them longer");
}

TEST(Replay, SkippingWhatNoEditReachesChangesNothing) {
  Recorded run;
  for (int i = 0; i < 50; ++i) run.work(3).launch(10, 1).work(2).sync(8).work(i % 7).launch(4, 1).sync(4);
  for (uint32_t from : {1u, 3u, 57u, 101u}) {
    std::vector<Edit> edits = {Recorded::remove_call(from), Recorded::remove_call(from + 60)};
    std::vector<Checkpoint> points;
    Schedule schedule = run.schedule();
    simulate(schedule, run.durations(), {}, {}, {}, &points);
    EXPECT_GE(points.size(), 200u / kCheckpointsApart);
    EXPECT_EQ(simulate(schedule, run.durations(), {}, {}, edits, nullptr, &points).end,
              simulate(schedule, run.durations(), {}, {}, edits).end);
  }
}

}  // namespace
}  // namespace diogenes
