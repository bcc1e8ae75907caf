// Idle stretches and what the CPU did meanwhile, worked by hand. Times in microseconds.
#include "analysis/profile/gpu_idle.h"

#include <gtest/gtest.h>

#include "analysis/replay/recorded/gpu_times.h"
#include "analysis/replay/replay.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

struct Idle {
  explicit Idle(const Timeline& trace) {
    ProcessOptions options{.launches_traced = true};
    write_process(folder.path() / "2", trace, options);
    options.stage = Stage::gpu_times;
    write_process(folder.path() / "gpu", trace, options);
    auto tracing = load_run(folder.path() / "2", sites, Load::operations);
    auto timed = load_run(folder.path() / "gpu", sites, Load::gpu_times);
    run = std::move(*tracing);
    join_gpu_times(run, *timed, sites, kAssumedMachine);
    found = find_gpu_idle(run.processes[0], replay::schedule_of(run.processes[0], sites));
  }
  // "between 2: 10" of the first thread, each in us.
  std::vector<std::string> parts() const {
    static constexpr const char* kNames[] = {"between", "in call", "wait over", "launching"};
    std::vector<std::string> text;
    for (const IdlePart& part : parts_of(found.by_thread[0], run.processes[0].threads[0].operations))
      text.push_back(std::string(kNames[static_cast<int>(part.what)]) + " " + std::to_string(part.operation) +
                     ": " + std::to_string((part.end - part.begin) / 1000));
    return text;
  }

  TemporaryFolder folder;
  SiteTable sites;
  Run run;
  GpuIdle found;
};

// A kernel from 4 to 24, waited for until 24; the CPU works until 54; a query of 6; works until 64; a launch of 4, whose kernel
// runs from 68 to 78.
TEST(GpuIdleTest, IsWhatLiesBetweenWorkAndTheNext) {
  auto trace = timeline().launch(4).on_gpu(at(4), lasting(20)).sync(lasting(20)).work(30);
  trace.call("cuStreamQuery", lasting(0), 6).work(4).launch(4).on_gpu(at(68), lasting(10)).sync(lasting(10));
  const Idle idle(trace);
  EXPECT_EQ(idle.found.phase.count, 74'000);
  EXPECT_EQ(idle.found.idle.count, 44'000);
  EXPECT_EQ(idle.parts(),
            (std::vector<std::string>{"between 2: 30", "in call 2: 6", "between 3: 4", "launching 3: 4"}));
}

// The GPU never waits: a queue of three.
TEST(GpuIdleTest, WorkThatWaitsForOtherWorkEndsNoStretch) {
  auto trace = timeline().launch(4).on_gpu(at(4), lasting(50)).launch(4).on_gpu(at(54), lasting(50));
  trace.launch(4).on_gpu(at(104), lasting(50)).sync(lasting(142));
  const Idle idle(trace);
  EXPECT_EQ(idle.found.idle.count, 0);
  EXPECT_EQ(idle.found.phase.count, 150'000);
  EXPECT_TRUE(idle.parts().empty());
}

// Two streams: idle only while neither works. One from 4 to 104, the other from 8 to 18, the next at 204.
TEST(GpuIdleTest, OtherStreamsCount) {
  auto trace = timeline().launch(4).in_stream(1).on_gpu(at(4), lasting(100));
  trace.launch(4).in_stream(2).on_gpu(at(8), lasting(10)).sync(lasting(96)).work(96);
  trace.launch(4).in_stream(2).on_gpu(at(204), lasting(10)).sync(lasting(10));
  const Idle idle(trace);
  EXPECT_EQ(idle.found.idle.count, 100'000);
  EXPECT_EQ(idle.parts(), (std::vector<std::string>{"between 3: 96", "launching 3: 4"}));
}

// In turn, with 10 of nothing behind each: of the first stream from 4 to 14 and 44 to 54, of the second from 24 to 34.
TEST(GpuIdleTest, StreamsThatTakeTurnsAreOneOrder) {
  auto trace = timeline().launch(4).in_stream(1).on_gpu(at(4), lasting(10)).work(16);
  trace.launch(4).in_stream(2).on_gpu(at(24), lasting(10)).work(16);
  trace.launch(4).in_stream(1).on_gpu(at(44), lasting(10)).sync(lasting(10));
  const Idle idle(trace);
  EXPECT_EQ(idle.found.idle.count, 20'000);
  EXPECT_EQ(idle.found.phase.count, 50'000);
  EXPECT_EQ(idle.parts(),
            (std::vector<std::string>{"between 1: 6", "launching 1: 4", "between 2: 6", "launching 2: 4"}));
}

TEST(GpuIdleTest, OfARunWithoutTimesNothingIsSaid) {
  const Idle idle(timeline().launch(4).sync(lasting(20)));
  EXPECT_EQ(idle.found.phase.count, 0);
  EXPECT_TRUE(idle.parts().empty());
}

TEST(GpuIdleTest, StretchesOfDamagedOperationsAreLeftOut) {
  const std::vector<IdleStretch> stretches = {{0, 10, 7}};
  EXPECT_TRUE(parts_of(stretches, {}).empty());
}

TEST(GpuIdleTest, AWaitThatIsOverIsOne) {
  std::vector<Operation> operations(3);
  operations[0].begin = {0}, operations[0].call = {4};
  operations[1].begin = {4}, operations[1].call = {30}, operations[1].waited = {28};
  operations[2].begin = {40}, operations[2].call = {5};
  const std::vector<IdleStretch> stretches = {{24, 47, 2}};
  const std::vector<IdlePart> parts = parts_of(stretches, operations);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].what, Meanwhile::wait_over);
  EXPECT_EQ(parts[0].end - parts[0].begin, 10);
  EXPECT_EQ(parts[1].what, Meanwhile::between);
  EXPECT_EQ(parts[1].end - parts[1].begin, 6);
  EXPECT_EQ(parts[2].what, Meanwhile::launching);
  EXPECT_EQ(parts[2].end - parts[2].begin, 7);
}

}  // namespace
}  // namespace diogenes
