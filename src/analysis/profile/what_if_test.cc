// What a faster kernel gains, worked by hand. Times in microseconds; no latencies.
#include "analysis/profile/what_if.h"

#include <gtest/gtest.h>

#include "analysis/replay/recorded/gpu_times.h"
#include "analysis/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

Run what_if_run(const std::filesystem::path& stage, SiteTable& sites, Load what) {
  auto run = load_run(stage, sites, what);
  return std::move(*run);
}

struct Asked {
  explicit Asked(const Timeline& trace) {
    ProcessOptions options{.launches_traced = true};
    write_process(folder.path() / "2", trace, options);
    options.stage = Stage::gpu_times;
    write_process(folder.path() / "gpu", trace, options);
    run = what_if_run(folder.path() / "2", sites, Load::operations);
    Run gpu_run = what_if_run(folder.path() / "gpu", sites, Load::gpu_times);
    const GpuTimesFound times = join_gpu_times(run, gpu_run, sites, kAssumedMachine);
    work = find_gpu_work(gpu_run, sites);
    join_gpu_work(run, gpu_run, sites, work);
    graph = build_graph(run, sites);
    replay.emplace(run, sites, graph, ReplayOptions{.machine = times.machine, .calibrated = true});
    found = find_what_ifs(run, work, *replay, nullptr);
  }
  // Of the kernel with that name.
  const ReportWhatIf& of(const std::string& name) const {
    for (uint32_t i = 0; i < work.items.size(); ++i)
      if (work.items[i].name == name) return found.items.at(i);
    throw std::runtime_error(name);
  }

  TemporaryFolder folder;
  SiteTable sites;
  Run run;
  GpuWorkFound work;
  EventGraph graph;
  std::optional<Replay> replay;
  WhatIfs found;
};

constexpr double us(double seconds) { return seconds * 1e6; }

// L 1, kernel 1-41, S to 41, work 10: all of the kernel is waited for.
TEST(WhatIf, OfAKernelThatIsWaitedForAllIsGained) {
  auto trace =
      timeline().launch(1).on_gpu(at(1), lasting(40), "axpy").sync(lasting(40)).work(10).sync(lasting(0));
  const Asked asked(trace);
  EXPECT_NEAR(us(asked.of("axpy").half.seconds), 20, 0.1);
  EXPECT_NEAR(us(asked.of("axpy").none.seconds), 40, 0.1);
  // Five microseconds of what a piece of work takes less may not be gained.
  EXPECT_NEAR(us(asked.of("axpy").half.low_s), 15, 0.1);
  EXPECT_NEAR(us(asked.of("axpy").half.high_s), 20, 0.1);
}

// L 1, kernel 1-41, CPU work of 100, S 0: it is over long before anybody waits.
TEST(WhatIf, AKernelThatTheCpuHidesGainsNothing) {
  auto trace = timeline().launch(1).on_gpu(at(1), lasting(40), "axpy").work(100).sync(lasting(0)).work(1);
  const Asked asked(trace.sync(lasting(0)));
  EXPECT_EQ(asked.of("axpy").half.seconds, 0);
  EXPECT_EQ(asked.of("axpy").none.seconds, 0);
  EXPECT_EQ(asked.of("axpy").none.high_s, 0);
}

// L 1, kernel 1-41, CPU work until 31, S to 41: ten are waited for, and no more can be gained.
TEST(WhatIf, NoMoreIsGainedThanWasWaited) {
  auto trace = timeline().launch(1).on_gpu(at(1), lasting(40), "axpy").work(30).sync(lasting(10)).work(10);
  const Asked asked(trace.sync(lasting(0)));
  EXPECT_NEAR(us(asked.of("axpy").half.seconds), 10, 0.1);
  EXPECT_NEAR(us(asked.of("axpy").none.seconds), 10, 0.1);
}

// Two kernels in turn, 30 and 10, waited for together: each gains its own.
TEST(WhatIf, EachKernelGainsItsOwn) {
  auto trace =
      timeline().launch(1).on_gpu(at(1), lasting(30), "a").launch(1).on_gpu(at(31), lasting(10), "b");
  const Asked asked(trace.sync(lasting(39)).work(5).sync(lasting(0)));
  EXPECT_NEAR(us(asked.of("a").half.seconds), 15, 0.1);
  EXPECT_NEAR(us(asked.of("b").none.seconds), 10, 0.1);
}

// One kernel from two lines: of 30 and of 10. Without the longer one, the other begins when it is given, at 2 and not at 31.
TEST(WhatIf, PathsOfAKernelAreAskedForThemselves) {
  auto trace = timeline().launch(1).from(0x10).on_gpu(at(1), lasting(30), "a");
  trace.launch(1).from(0x20).on_gpu(at(31), lasting(10), "a").sync(lasting(39)).work(5).sync(lasting(0));
  const Asked asked(trace);
  ASSERT_EQ(asked.found.paths.size(), 2u);
  const GpuWorkPath& longer = asked.work.items[0].paths[0];
  EXPECT_NEAR(us(asked.found.paths.at({0, longer.site.value}).none.seconds), 29, 0.1);
}

// Half of a kernel of 40 that is waited for: it is 20, which become 10, or none. Of one that the CPU hides, nothing.
TEST(WhatIf, APartOfAKernelGainsItsShare) {
  auto trace =
      timeline().launch(1).on_gpu(at(1), lasting(40), "axpy").sync(lasting(40)).work(10).sync(lasting(0));
  const Asked asked(trace);
  const WhatIfs found = find_what_ifs(asked.run, asked.work, *asked.replay, nullptr,
                                      {{.item = 0, .share = 0.5}, {.item = 0, .share = 1}});
  ASSERT_EQ(found.parts.size(), 2u);
  EXPECT_NEAR(us(found.parts[0]->half.seconds), 10, 0.1);
  EXPECT_NEAR(us(found.parts[0]->none.seconds), 20, 0.1);
  EXPECT_NEAR(us(found.parts[1]->none.seconds), 40, 0.1);
  EXPECT_EQ(found.items.size(), asked.found.items.size());
}

// 30 of 40 are hidden behind the CPU: a quarter less gains 10 of 10, and half less no more.
TEST(WhatIf, OfAPartNoMoreIsGainedThanWasWaited) {
  auto trace = timeline().launch(1).on_gpu(at(1), lasting(40), "axpy").work(30).sync(lasting(10)).work(10);
  const Asked asked(trace.sync(lasting(0)));
  const WhatIfs found =
      find_what_ifs(asked.run, asked.work, *asked.replay, nullptr, {{.item = 0, .share = 0.5}});
  EXPECT_NEAR(us(found.parts[0]->half.seconds), 10, 0.1);
  EXPECT_NEAR(us(found.parts[0]->none.seconds), 10, 0.1);
}

}  // namespace
}  // namespace diogenes
