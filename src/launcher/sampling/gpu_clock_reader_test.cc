#include "launcher/sampling/gpu_clock_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/units.h"
#include "trace/gpu_clocks.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::launcher {
namespace {

constexpr PciPlace kGpu{0, 1, 0};

TEST(GpuClockReader, ReadsOnceAtLeast) {
  testing::TemporaryFolder folder;
  GpuClockReader reader(folder.path() / kGpuClocksFile, DIOGENES_SIMULATED_LIBRARIES);
  reader.start();
  reader.stop();
  EXPECT_DOUBLE_EQ(GpuClocks::read(folder.path()).at(kGpu, monotonic_now().count), 1.0);
}

TEST(GpuClockReader, ItsFileGrowsWhileTheProgramRuns) {
  testing::TemporaryFolder folder;
  GpuClockReader reader(folder.path() / kGpuClocksFile, DIOGENES_SIMULATED_LIBRARIES);
  reader.start();
  // However long the machine takes.
  for (int i = 0; i < 60'000 && GpuClocks::read(folder.path()).at(kGpu, 0) == 0; ++i) usleep(1000);
  EXPECT_DOUBLE_EQ(GpuClocks::read(folder.path()).at(kGpu, 0), 1.0);
  reader.stop();
}

TEST(GpuClockReader, WithoutAPlaceForItsFileNothingHappens) {
  GpuClockReader reader("/nonexistent/gpu-clocks", DIOGENES_SIMULATED_LIBRARIES);
  reader.start();
  reader.stop();
  EXPECT_EQ(GpuClocks::read("/nonexistent").at(kGpu, 0), 0);
}

}  // namespace
}  // namespace diogenes::launcher
