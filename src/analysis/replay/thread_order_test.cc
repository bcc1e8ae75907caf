// Threads that wait for each other, by hand. Microseconds; kernels of different streams overlap.
#include "analysis/replay/thread_order.h"

#include <gtest/gtest.h>

#include "analysis/replay/simulator.h"
#include "analysis/testing/recorded_schedule.h"

namespace diogenes {
namespace {

using replay::Machine;
using replay::Setting;
using replay::Waits;
using testing::Recorded;

constexpr Machine kOverlapping{.kernels_overlap = true, .overlap_seen = true};

double gained(const Recorded& run, std::vector<replay::Edit> edits, Setting setting = {}) {
  return run.benefit_us(edits, kOverlapping, setting);
}

// Main waits 100 and lets the other go on at 110; it wakes 2 later, works 50 and waits for a kernel of 20.
Recorded hands_over() {
  Recorded run;
  run.on_thread(0).launch(100).sync(100, 0, Waits::stream).work(10).releases(1).work(5);
  run.on_thread(1).on_stream(1).launch(1).takes(1, 112).work(50).launch(20).sync(20, 0, Waits::stream);
  return run;
}

TEST(ThreadOrder, AGainPassesToTheThreadThatWaits) {
  Recorded run = hands_over();
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 182);
  // Released at 10: 12 + 50 + 20 = 82. But the kernel of 100 runs until then.
  EXPECT_DOUBLE_EQ(run.end_us({Recorded::remove_wait(1)}, kOverlapping), 100);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(1)}), 82);
  // As if each thread went on by itself: main is not the one that ends last.
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(1)}, {.threads_joined = false}), 0);
}

TEST(ThreadOrder, WhatIsKnownOfThreadsIsNoRange) {
  const Estimate found = hands_over().estimate_with_gpu_times({Recorded::remove_wait(1)}, kOverlapping);
  EXPECT_EQ(found.benefit.count, 82'000);
  EXPECT_EQ(found.low.count, 82'000);
  EXPECT_EQ(found.high.count, 82'000);
}

TEST(ThreadOrder, AThreadThatIsFedAbsorbsAGain) {
  // An item at 100 and one at 200; the consumer waits 60 for the first, then 40 for the second item.
  Recorded run;
  run.on_thread(0).launch(1).work(100).releases(1);
  run.on_thread(1).on_stream(1).launch(1).takes(1, 100).launch(60).sync(60, 0, Waits::stream);
  run.on_thread(0).work(100).releases(1);
  run.on_thread(1).takes(1, 40).work(80);
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 280);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(2, 1)}), 0);
}

TEST(ThreadOrder, AFreeLockIsTakenBehindWhoHeldItOrNot) {
  // Items at 50 and 100. The consumer takes the second one at 120; without its wait of 30 it comes at 90.
  Recorded run;
  run.on_thread(0).launch(1).work(50).releases(1);
  run.on_thread(1).on_stream(1).launch(1).takes(1, 50).launch(30).sync(30, 0, Waits::stream).work(40);
  run.on_thread(0).work(50).releases(2);
  run.on_thread(1).takes(2, 0, OrderObject::mutex).work(10);
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 130);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(2, 1)}), 20);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(2, 1)}, {.locks_in_order = false}), 30);
  const Estimate found = run.estimate_with_gpu_times({Recorded::remove_wait(2, 1)}, kOverlapping);
  EXPECT_EQ(found.benefit.count, 30'000);
  EXPECT_EQ(found.low.count, 20'000);
}

TEST(ThreadOrder, ABarrierGivesWhatTheSlowestGains) {
  // One arrives at 60, having waited 50; the other at 80, having waited 40; both work 10 behind it.
  Recorded run;
  run.on_thread(0).launch(50).sync(50, 0, Waits::stream).work(10).arrives(9, 1).leaves(9, 2, 20).work(10);
  run.on_thread(1)
      .on_stream(1)
      .launch(40)
      .sync(40, 0, Waits::stream)
      .work(40)
      .arrives(9, 2)
      .leaves(9, 2, 0)
      .work(10);
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 90);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(1, 0)}), 0);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(1, 1)}), 20);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(1, 0), Recorded::remove_wait(1, 1)}), 40);
}

TEST(ThreadOrder, AThreadThatNeverCallsTheDriverReleasesWhenItDid) {
  // Thread file 7 has no times. It let the second thread go on at 100.
  Recorded run;
  run.on_thread(0).launch(1).work(100).releases(1);
  run.on_thread(1).on_stream(1).launch(30).sync(30, 0, Waits::stream).work(20);
  run.takes(1, 50, OrderObject::condition, 7).work(10);
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 110);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(1, 1)}), 0);
}

TEST(ThreadOrder, AMovedWaitKeepsItsPlaceInTheWorkAroundASleep) {
  // The result is used 20 behind the sleep, 80 behind the wait: 30 + 10 + 50 + 20 of work and sleep, then 40.
  Recorded run;
  run.on_thread(0).launch(1).work(90).releases(1).work(60);
  run.on_thread(1).on_stream(1).launch(30).sync(30, 0, Waits::stream).work(10).takes(1, 50).work(60);
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 150);
  // Without the wait it sleeps from 10 on, until 90 all the same.
  EXPECT_DOUBLE_EQ(gained(run, {run.move(1, 80, 1)}), 0);
}

TEST(ThreadOrder, ASleepForSomethingElseStaysWork) {
  // Released at 10, long before the sleep from 50 to 100 began.
  Recorded run;
  run.on_thread(0).launch(1).work(10).releases(1).work(10);
  run.on_thread(1).on_stream(1).launch(30).sync(30, 0, Waits::stream).work(20).takes(1, 50).work(10);
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 110);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(1, 1)}), 30);
}

// Of a sleep of T: it wakes T / 10 late; who wakes it pays 1 for one of 10, 3 for one of 110.
const std::vector<SleepCost> kSleepCosts = {{10'000, 1'000, 1'000}, {110'000, 11'000, 3'000}};

TEST(ThreadOrder, AShorterSleepEndsSooner) {
  // It slept 110 and went on 22 behind the release: 11 for such a sleep and 11 for other things. Then it sleeps 10.
  const auto run = [](const std::vector<SleepCost>& costs) {
    Recorded recorded;
    recorded.with_sleep_costs(costs)
        .on_thread(0)
        .launch(100)
        .sync(100, 0, Waits::stream)
        .work(10)
        .releases(1);
    recorded.on_thread(1).on_stream(1).launch(1).takes(1, 132).work(200);
    return recorded;
  };
  EXPECT_DOUBLE_EQ(run(kSleepCosts).end_us({}, kOverlapping), 332);
  EXPECT_DOUBLE_EQ(gained(run(kSleepCosts), {Recorded::remove_wait(1)}), 110);
  EXPECT_DOUBLE_EQ(gained(run({}), {Recorded::remove_wait(1)}), 100);
  // What the sleeps change may be nothing, or twice as much.
  const Estimate found = run(kSleepCosts).estimate_with_gpu_times({Recorded::remove_wait(1)}, kOverlapping);
  EXPECT_EQ(found.benefit.count, 110'000);
  EXPECT_EQ(found.low.count, 100'000);
  EXPECT_EQ(found.high.count, 120'000);
}

TEST(ThreadOrder, AShorterSleepIsNotHeldUpAsALongOneWas) {
  // Three times the thread sleeps for 110. It goes on 22 behind the release, and the third time 62: 40 too late. Without the
  // waits it sleeps for 10 each time, and goes on 12 behind the release: 110 are gained twice, and then 150.
  Recorded run;
  run.with_sleep_costs({{10'000, 1'000, 0}, {110'000, 11'000, 0}});
  for (int round = 0; round < 3; ++round) {
    const double late = round == 2 ? 62 : 22;
    run.on_thread(0).on_stream(0).launch(100).sync(100, 0, Waits::stream).work(10).releases(1);
    run.on_thread(1).on_stream(1).launch(0).takes(1, 110 + late).work(10).releases(2);
    run.on_thread(0).takes(2, late + 10);
  }
  run.work(400);
  const double recorded = run.end_us({}, kOverlapping);
  const std::vector<replay::Edit> all = {Recorded::remove_wait(1), Recorded::remove_wait(3),
                                         Recorded::remove_wait(5)};
  EXPECT_DOUBLE_EQ(recorded - run.end_us(all, kOverlapping), 110 + 110 + 150);
}

TEST(ThreadOrder, WhoWakesAnotherPaysForItsSleep) {
  // 3 for the sleep of 110, 1 for that of 10.
  Recorded run;
  run.with_sleep_costs(kSleepCosts)
      .on_thread(0)
      .launch(100)
      .sync(100, 0, Waits::stream)
      .work(10)
      .releases(1)
      .work(300);
  run.on_thread(1).on_stream(1).launch(1).takes(1, 132).work(50);
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 410);
  EXPECT_DOUBLE_EQ(gained(run, {Recorded::remove_wait(1)}), 102);
}

TEST(ThreadOrder, WhoDidNotSleepAndDoesHasToBeWoken) {
  // The condition held already at 60. Without its wait the thread sleeps from 0 to 50: who lets it go on pays 1.8.
  Recorded run;
  run.with_sleep_costs(kSleepCosts).on_thread(0).launch(1).work(50).releases(1).work(100);
  run.on_thread(1).on_stream(1).launch(60).sync(60, 0, Waits::stream).takes(1, 0).work(10);
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 150);
  EXPECT_DOUBLE_EQ(run.end_us({Recorded::remove_wait(1, 1)}, kOverlapping), 151.8);
  // It goes on at 55.
  EXPECT_EQ(
      simulate(run.schedule(), run.durations(), kOverlapping, {}, std::vector{Recorded::remove_wait(1, 1)})
          .threads[1],
      65'000);
}

TEST(SleepCosts, LiesBetweenWhatWasMeasured) {
  const replay::SleepCosts costs(std::vector<SleepCost>{{110'000, 11'000, 3'000}, {10'000, 1'000, 1'000}});
  EXPECT_EQ(costs.wakes_after(0), 1'000);
  EXPECT_EQ(costs.wakes_after(10'000), 1'000);
  EXPECT_EQ(costs.wakes_after(60'000), 6'000);
  EXPECT_EQ(costs.waker_pays(60'000), 2'000);
  EXPECT_EQ(costs.waker_pays(1'000'000'000'000), 3'000);
  EXPECT_EQ(replay::SleepCosts().wakes_after(50'000), 0);
}

TEST(SleepCosts, DamagedFiguresAreLeftOut) {
  const int64_t huge = INT64_MAX;
  EXPECT_EQ(replay::SleepCosts({{-1, 5, 5}, {huge, 1, 1}, {1, huge, 1}, {1, 1, -7}}).wakes_after(3), 0);
  EXPECT_EQ(replay::SleepCosts({{5, 7, 1}, {5, 9, 1}}).wakes_after(5), 9);
}

TEST(ThreadOrder, DamagedRecordsEnd) {
  // The second thread lets the first one go on at 5, and begins at 20, made by the first at 15: each waits for the other.
  Recorded run;
  run.on_thread(1).on_stream(1).launch(1).work(5).releases(1).work(15).begins(7);
  run.on_thread(0).on_stream(0).launch(1).takes(1, 10).work(5).spawns(7).work(5);
  // When the first kernel has ended, at 1, the first goes on: it makes the other at 6, which begins 5 later, and takes 20.
  EXPECT_DOUBLE_EQ(run.end_us({}, kOverlapping), 31);
}

}  // namespace
}  // namespace diogenes
