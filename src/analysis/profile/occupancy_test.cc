// Beside what NVIDIA's occupancy calculator says of the same launches.
#include "analysis/profile/occupancy.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

LaunchShape shape(uint32_t threads, uint32_t registers, uint32_t shared) {
  return {{1, 1, 1}, {threads, 1, 1}, registers, 0, shared};
}

TEST(Occupancy, IsLimitedByWhatIsShortest) {
  struct Case {
    LaunchShape shape;
    double percent;
    const char* limiter;
  };
  for (const Case& one : {
           Case{shape(256, 32, 0), 100, ""},
           Case{shape(256, 40, 0), 75, "registers"},             // 48 of 64 warps: 1,280 registers each
           Case{shape(256, 128, 0), 25, "registers"},            // 16 warps
           Case{shape(256, 32, 48 << 10), 50, "shared memory"},  // 49 KiB of 228: 4 blocks
           Case{shape(32, 32, 0), 50, "blocks"},                 // 32 blocks of a warp
           Case{shape(768, 32, 0), 75, "threads of a block"},    // 2 blocks of 24 warps
       }) {
    const auto found = occupancy_of(one.shape, 9, 0);
    ASSERT_TRUE(found) << one.shape.block[0] << " threads, " << one.shape.registers << " registers";
    EXPECT_DOUBLE_EQ(found->percent, one.percent) << one.shape.block[0] << ", " << one.shape.registers;
    EXPECT_EQ(found->limiter, one.limiter);
  }
}

TEST(Occupancy, OfWhatIsNotKnownNothingIsSaid) {
  EXPECT_FALSE(occupancy_of(shape(256, 32, 0), 3, 5)) << "such a GPU";
  EXPECT_FALSE(occupancy_of(LaunchShape{}, 9, 0)) << "no shape";
  EXPECT_FALSE(occupancy_of(shape(5000, 32, 0), 9, 0)) << "damaged";
  EXPECT_FALSE(occupancy_of(shape(256, 32, 1 << 30), 9, 0)) << "more than there is";
}

}  // namespace
}  // namespace diogenes
