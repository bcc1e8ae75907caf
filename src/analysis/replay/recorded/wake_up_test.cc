// The wake-up that a recorded run's waits tell, with figures worked by hand. Units: microseconds.
#include "analysis/replay/recorded/wake_up.h"

#include <gtest/gtest.h>

#include "analysis/testing/recorded_schedule.h"

namespace diogenes {
namespace {

using namespace diogenes::replay;
using diogenes::testing::Recorded;

// Another run's GPU times told: works start 2 behind the launch, threads wake 1 behind the end.
constexpr Machine kOther{.launch_latency = 2'000, .wake_up = 1'000};

int64_t wake_up(const Recorded& run, const Machine& machine = kOther) {
  return wake_up_of(run.schedule(), run.durations(), machine);
}

// Kernels of 20, each waited for at once.
Recorded rounds(const std::vector<double>& waited) {
  Recorded run;
  for (double one : waited) run.launch(20).sync(one).work(50);
  return run;
}

TEST(WakeUp, IsTheMeanOfWhatTheWaitsTookBehindTheEnd) {
  // The work ends 22 behind the launch: 2, 4 and 6 behind that, on average 4.
  EXPECT_EQ(wake_up(rounds({24, 26, 28, 24, 26, 28, 24, 26, 28})), 4'000);
  // What the other run told is right where the waits say so.
  EXPECT_EQ(wake_up(rounds({23, 23, 23, 23, 23, 23, 23, 23})), 1'000);
  // Works that took longer there than here: a wake-up is no less than 0.
  EXPECT_EQ(wake_up(rounds({20, 20, 20, 20, 20, 20, 20, 20})), 0);
}

TEST(WakeUp, AThreadThatLostItsProcessorTellsNothing) {
  EXPECT_EQ(wake_up(rounds({24, 24, 24, 24, 24, 24, 24, 24, 5'000})), 2'000);
}

TEST(WakeUp, WorkThatTookLongerInTheOtherRunPilesUpForNothing) {
  // 30,000 waits for kernels that the GPU's times make 200 long, in rounds of 74: in time that grows with the
  // rounds, and not with their square.
  Recorded run;
  for (int i = 0; i < 30'000; ++i) run.launch(200).sync(24).work(50);
  EXPECT_EQ(wake_up(run), 1'000);
}

TEST(WakeUp, StaysWhereTheWaitsDoNotTell) {
  EXPECT_EQ(wake_up(rounds({24, 24, 24, 24, 24, 24, 24})), 1'000) << "too few";
  EXPECT_EQ(wake_up(rounds({24, 24, 24, 24, 100, 100, 100, 100, 100})), 1'000)
      << "most are beyond what can be a wake-up: the run is not understood";
  EXPECT_EQ(wake_up(Recorded()), 1'000) << "no waits";
}

TEST(WakeUp, WaitsForNothingAndCopiesThatTheirCallWaitsForDoNotCount) {
  Recorded run = rounds({24, 24, 24, 24, 24, 24, 24, 24});
  for (int i = 0; i < 20; ++i) run.sync(1.5).work(5);
  for (int i = 0; i < 20; ++i) run.copy(Work::to_host, 5, 1, 4096, 20);
  EXPECT_EQ(wake_up(run), 2'000);
}

TEST(WakeUp, OfAStreamIsCountedFromItsOwnEnd) {
  // A long kernel on stream 1 beside short ones on stream 0: who waits for stream 0 does not wait for it.
  Machine overlapping = kOther;
  overlapping.kernels_overlap = true;
  overlapping.legacy_orders = false;
  Recorded run;
  for (int i = 0; i < 8; ++i) {
    run.on_stream(1).launch(90);
    run.on_stream(0).launch(20).sync(25, 0, Waits::stream).work(100);
  }
  EXPECT_EQ(wake_up(run, overlapping), 3'000);
}

TEST(WakeUp, OfThreadsSideBySide) {
  Machine overlapping = kOther;
  overlapping.kernels_overlap = true;
  overlapping.legacy_orders = false;
  Recorded run;
  for (uint32_t t = 0; t < 2; ++t)
    for (int i = 0; i < 5; ++i)
      run.on_thread(t, t * 7.0).on_stream(t).launch(20).sync(24, 0, Waits::stream).work(31 + 4 * t);
  EXPECT_EQ(wake_up(run, overlapping), 2'000);
}

TEST(WakeUp, AWaitThatIsGoneGainsIt) {
  // CPU-bound: each round's wait of 26 is gained, though the other run's latencies make 23 of it.
  const Recorded run = rounds({26, 26, 26, 26, 26, 26, 26, 26, 26, 26});
  std::vector<Edit> edits;
  for (uint32_t i = 0; i < 10; ++i) edits.push_back(Recorded::remove_call(2 * i + 1));
  // The wake-up is 3 more than it was in the other run, in each of 10 waits: it may be so again.
  const Estimate found = run.estimate_with_gpu_times(edits, kOther);
  EXPECT_EQ(found.benefit.count, 260'000);
  EXPECT_EQ(found.low.count, 230'000);
  EXPECT_EQ(found.high.count, 290'000);
  EXPECT_EQ(found.reason, "threads woke sooner or later than in the run that recorded GPU times");
}

}  // namespace
}  // namespace diogenes
