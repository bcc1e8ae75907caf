// What the GPU worked on, summed by hand. Times in microseconds.
#include "analysis/program/gpu_work.h"

#include <gtest/gtest.h>

#include "analysis/replay/recorded/gpu_times.h"
#include "analysis/replay/replay.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

constexpr LaunchShape kSmall{{1, 1, 1}, {64, 1, 1}, 16, 0, 0}, kLarge{{9, 1, 1}, {64, 1, 1}, 16, 0, 0};

Run gpu_work_run(const std::filesystem::path& stage, SiteTable& sites, Load what) {
  auto run = load_run(stage, sites, what);
  return std::move(*run);
}

struct Worked {
  explicit Worked(const Timeline& trace) : Worked(trace, trace) {}
  Worked(const Timeline& tracing, const Timeline& timed) {
    ProcessOptions options{.launches_traced = true};
    write_process(folder.path() / "2", tracing, options);
    options.stage = Stage::gpu_times;
    write_process(folder.path() / "gpu", timed, options);
    run = gpu_work_run(folder.path() / "2", sites, Load::operations);
    gpu_run = gpu_work_run(folder.path() / "gpu", sites, Load::gpu_times);
    join_gpu_times(run, gpu_run, sites, kAssumedMachine);
    found = find_gpu_work(gpu_run, sites);
    join_gpu_work(run, gpu_run, sites, found);
  }
  const std::vector<uint32_t>& mixes() const { return run.processes[0].threads[0].gpu_mix; }

  TemporaryFolder folder;
  SiteTable sites;
  Run run, gpu_run;
  GpuWorkFound found;
};

// Two calls of axpy at one place (10 and 14), one of it at another (30, another shape), a copy of 5.
Timeline three_launches() {
  auto trace = timeline().launch(1).from(0x10).on_gpu(at(2), lasting(10), "axpy", kSmall);
  trace.launch(1).from(0x10).on_gpu(at(12), lasting(14), "axpy", kSmall);
  trace.launch(1).from(0x20).on_gpu(at(26), lasting(30), "axpy", kLarge);
  trace.copy("cuMemcpyDtoHAsync_v2", 4096, lasting(0), 1).on_gpu(at(56), lasting(5), GpuWork::to_host);
  return trace.sync(lasting(60));
}

TEST(GpuWorkFoundTest, SumsByNameShapeAndPath) {
  const Worked worked(three_launches());
  const GpuWorkFound& found = worked.found;
  ASSERT_EQ(found.items.size(), 2u);
  EXPECT_EQ(found.time.count, 59'000);
  EXPECT_EQ(found.busy.count, 59'000);
  EXPECT_EQ(found.pieces, 4u);
  EXPECT_EQ(found.unnamed, 0u);
  const GpuWorkItem& axpy = found.items[0];
  EXPECT_EQ(axpy.name, "axpy");
  EXPECT_EQ(axpy.count, 3u);
  EXPECT_EQ(axpy.time.count, 54'000);
  EXPECT_EQ(axpy.shortest.count, 10'000);
  EXPECT_EQ(axpy.median.count, 14'000);
  EXPECT_EQ(axpy.longest.count, 30'000);
  ASSERT_EQ(axpy.paths.size(), 2u);
  EXPECT_EQ(axpy.paths[0].time.count, 30'000);
  EXPECT_EQ(axpy.paths[1].count, 2u);
  ASSERT_EQ(axpy.shapes.size(), 2u);
  EXPECT_EQ(axpy.shapes[0].shape.grid[0], 9u);
  EXPECT_EQ(axpy.shapes[1].time.count, 24'000);
  EXPECT_EQ(found.items[1].kind, GpuWork::to_host);
  EXPECT_EQ(found.items[1].bytes.count, 4096u);
}

TEST(GpuWorkFoundTest, OperationsOfTheTracingRunKnowTheirs) {
  const Worked worked(three_launches());
  EXPECT_EQ(worked.mixes(), (std::vector<uint32_t>{0, 0, 0, 1, GpuWorkFound::kNoMix}));
}

TEST(GpuWorkFoundTest, AnOperationWithoutACounterpartHasWhatItsSiteHasMostOften) {
  auto longer = three_launches();
  longer.launch(1).from(0x10).on_gpu(at(90), lasting(10), "axpy", kSmall);
  const Worked worked(longer, three_launches());
  EXPECT_EQ(worked.mixes().back(), 0u);
}

// Of five calls over one path two have times, 10 and 16; of two over another the one of 30; of one over a third none.
TEST(GpuWorkFoundTest, CallsThatWereLeftOutCountAsThoseOfTheirPath) {
  auto trace = timeline().launch(1).from(0x10).on_gpu(at(2), lasting(10), "axpy", kSmall);
  trace.launch(1).from(0x10).flags(kUntimed).launch(1).from(0x10).flags(kUntimed);
  trace.launch(1).from(0x10).on_gpu(at(40), lasting(16), "axpy", kSmall);
  trace.launch(1).from(0x10).flags(kUntimed).launch(1).from(0x20).flags(kUntimed);
  trace.launch(1).from(0x20).on_gpu(at(60), lasting(30), "axpy", kLarge);
  trace.launch(1).from(0x30).flags(kUntimed);
  const Worked worked(trace.sync(lasting(60)));
  const GpuWorkFound& found = worked.found;
  EXPECT_EQ(found.timed, 3u);
  EXPECT_EQ(found.untimed, 5u);
  ASSERT_EQ(found.items.size(), 1u);
  const GpuWorkItem& axpy = found.items[0];
  EXPECT_EQ(axpy.count, 7u);
  // The first stands for two calls, the second for three.
  EXPECT_EQ(axpy.time.count, 2 * 10'000 + 3 * 16'000 + 2 * 30'000);
  EXPECT_EQ(found.time.count, axpy.time.count);
  EXPECT_EQ(found.pieces, 7u);
  EXPECT_EQ(axpy.shortest.count, 10'000);
  EXPECT_EQ(axpy.median.count, 16'000);
  ASSERT_EQ(axpy.paths.size(), 2u);
  EXPECT_EQ(axpy.paths[0].count, 5u);
  EXPECT_EQ(axpy.paths[1].count, 2u);
  EXPECT_EQ(axpy.by_process.at(0).count, axpy.time.count);
  // In use for 56 of what was recorded, which is 56, too.
  EXPECT_EQ(found.busy.count, found.time.count);
  EXPECT_EQ(worked.mixes()[1], 0u);
  EXPECT_EQ(worked.mixes()[7], GpuWorkFound::kNoMix);
}

// A graph: a for 10, then both for 10, then b for 20. Of its 40, a alone has a quarter and b alone half.
TEST(GpuWorkFoundTest, OfAGraphEachNodeHasItsShare) {
  auto trace = timeline().call("cuGraphLaunch", lasting(0), 1).from(0x10);
  trace.on_gpu(at(10), lasting(20), "a").on_gpu(at(20), lasting(30), "b");
  const Worked worked(trace.sync(lasting(60)));
  ASSERT_EQ(worked.found.items.size(), 2u);
  EXPECT_EQ(worked.found.items[0].name, "b");
  EXPECT_TRUE(worked.found.items[0].in_graphs);
  EXPECT_EQ(worked.found.time.count, 50'000);
  EXPECT_EQ(worked.found.busy.count, 40'000);
  const auto& mix = worked.found.mixes.at(worked.mixes()[0]);
  ASSERT_EQ(mix.size(), 2u);
  EXPECT_EQ(mix[0].item, 0u);
  EXPECT_DOUBLE_EQ(mix[0].alone, 0.5);
  EXPECT_DOUBLE_EQ(mix[1].alone, 0.25);
}

TEST(GpuWorkFoundTest, ManyKernelsEachHaveTheirOwn) {
  auto trace = timeline();
  for (int i = 0; i < 5000; ++i)
    trace.launch(1).from(0x10).on_gpu(at(2 + 2 * i), lasting(1 + i % 2), ("k" + std::to_string(i)).c_str());
  const Worked worked(trace.sync(lasting(60)));
  EXPECT_EQ(worked.found.items.size(), 5000u);
  EXPECT_EQ(worked.found.time.count, 7'500'000);
  EXPECT_EQ(worked.found.items.front().time.count, 2'000);
  EXPECT_EQ(worked.found.items.back().time.count, 1'000);
}

TEST(GpuWorkFoundTest, KernelsWithoutANameAreCounted) {
  auto trace = timeline().launch(1).on_gpu(at(2), lasting(10), GpuWork::kernel).sync(lasting(12));
  const Worked worked(trace);
  EXPECT_EQ(worked.found.unnamed, 1u);
  EXPECT_EQ(worked.found.items[0].name, "");
}

}  // namespace
}  // namespace diogenes
