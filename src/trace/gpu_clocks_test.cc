#include "trace/gpu_clocks.h"

#include <gtest/gtest.h>

#include <fstream>

namespace diogenes {
namespace {

constexpr PciPlace kOne{0, 0x1b, 0}, kOther{0, 0x43, 0};

TEST(GpuClocks, TheNextReadingCounts) {
  GpuClocks clocks;
  clocks.add({1'000, kOne, 1980});
  clocks.add({2'000, kOne, 1500});
  clocks.add({3'000, kOne, 0});  // not known
  clocks.add({1'500, kOther, 345});
  EXPECT_DOUBLE_EQ(clocks.at(kOne, 0), 1.98);
  EXPECT_DOUBLE_EQ(clocks.at(kOne, 1'499), 1.98);
  EXPECT_DOUBLE_EQ(clocks.at(kOne, 1'501), 1.5);
  EXPECT_DOUBLE_EQ(clocks.at(kOne, 9'000), 1.5);
  EXPECT_DOUBLE_EQ(clocks.at(kOther, 9'000), 0.345);
  EXPECT_EQ(clocks.at({0, 0, 1}, 1'000), 0);
}

TEST(GpuClocks, LinesThatCannotBeReadAreLeftOut) {
  const std::filesystem::path folder = testing::TempDir() + "gpu_clocks";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(GpuClocks::read(folder / "none").at(kOne, 1'000), 0);
  std::ofstream(folder / kGpuClocksFile) << line_of({1'000, kOne, 1980}) << "\nnonsense\n"
                                         << std::string(100'000, '9') << "\n-5 1:2 7\n"
                                         << line_of({2'000, kOther, 999'999}) << "3000 00000000:1b:00 15";
  const GpuClocks clocks = GpuClocks::read(folder);
  EXPECT_DOUBLE_EQ(clocks.at(kOne, 1'000), 1.98);
  EXPECT_DOUBLE_EQ(clocks.at(kOne, 3'000), 0.015);  // a line that was cut
  EXPECT_DOUBLE_EQ(clocks.at(kOther, 2'000), 999.999);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace diogenes
