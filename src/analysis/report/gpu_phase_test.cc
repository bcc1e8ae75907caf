// When the GPU is used, and what of that is no use of it.
#include "analysis/report/gpu_phase.h"

#include <gtest/gtest.h>

#include "analysis/testing/analysed.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

// From the launch at 100 to the end of the wait: a launch of 1, work of 4, a wait of 5.
TEST(GpuPhase, IsFromTheFirstWorkToTheLastWait) {
  auto trace = timeline().work(100).launch(1).work(4).sync(lasting(5)).from(0x100).unnecessary().work(50);
  Analysed analysed(trace, {.launches_traced = true});
  EXPECT_DOUBLE_EQ(testing::us(gpu_phase(analysed.tracing, analysed.sites)), 10);
  Analysed none(timeline().work(10));
  EXPECT_EQ(gpu_phase(none.tracing, none.sites).count, 0);
}

// A launch of 100 ms, an import of 2 s, a wait of 100 ms, 90 ms, a wait of 100 ms: of 2,390 ms the import is left out. A kernel of
// 1 s leaves 1,100 ms of it, one that ends 50 ms before the wait nothing.
TEST(GpuInUse, IsWithoutLongStretchesInWhichNothingHappens) {
  const auto phase_ms = [](double kernel_ms) {
    auto trace = timeline();
    const auto ms = [](double count) { return 1000 * count; };
    trace.launch(ms(100)).work(ms(2000)).sync(lasting(ms(100)));
    trace.work(ms(90)).sync(lasting(ms(100)));
    Analysed analysed(trace, {.launches_traced = true});
    for (Thread& thread : analysed.tracing.processes[0].threads)
      thread.operations[0].gpu.count = kernel_ms < 0 ? -1 : static_cast<int64_t>(kernel_ms * 1e6);
    return testing::us(gpu_in_use(analysed.tracing, analysed.sites)) / 1000;
  };
  EXPECT_NEAR(phase_ms(0), 390, 6);
  EXPECT_NEAR(phase_ms(1000), 1290, 6);
  EXPECT_NEAR(phase_ms(2050), 2390, 1);
  EXPECT_NEAR(phase_ms(-1), 2390, 1) << "how long the kernel runs is not known";
}

}  // namespace
}  // namespace diogenes
