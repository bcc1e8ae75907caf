// What ends that the bytes of a source are known; the guards are deferred_ranges_test.cc's.
#include "agent/proving/unwritten_sources.h"

#include <gtest/gtest.h>

namespace diogenes::agent {

void touch(AddressRange range, TouchBy by, Access access);  // deferred_ranges_test.cc

namespace facts {
namespace {

constexpr AddressRange kOne{0x110000, 0x112000}, kOther{0x120000, 0x122000};

struct Unwritten : testing::Test {
  UnwrittenSources sources{};
  uint32_t one = sources.watch(kOne, false), other = sources.watch(kOther, true);
};

TEST_F(Unwritten, UntilTheProgramWritesThere) {
  ASSERT_NE(one, 0u);
  EXPECT_TRUE(sources.is_unwritten(one));
  touch(kOne, TouchBy::program, Access::write);
  EXPECT_FALSE(sources.is_unwritten(one));
  EXPECT_TRUE(sources.is_unwritten(other));
}

TEST_F(Unwritten, UntilTheGpuMayWriteThere) {
  sources.note_work({kOne.end - 1, kOne.end + 4096});
  EXPECT_FALSE(sources.is_unwritten(one));
  EXPECT_TRUE(sources.is_unwritten(other));
  sources.note_unknown_work();
  EXPECT_FALSE(sources.is_unwritten(other));
}

TEST_F(Unwritten, APlaceIsUsedAgain) {
  sources.note_unknown_work();
  sources.end(one);
  EXPECT_EQ(sources.watch(kOne, false), one);
  EXPECT_TRUE(sources.is_unwritten(one));
}

TEST_F(Unwritten, NoMoreThanThereIsRoomFor) {
  int watched = 0;
  while (watched < 1000 && sources.watch(kOne, false) != 0) ++watched;
  EXPECT_GT(watched, 10);
  EXPECT_LT(watched, 1000);
  sources.end(one);
  EXPECT_NE(sources.watch(kOne, false), 0u);
}

}  // namespace
}  // namespace facts
}  // namespace diogenes::agent
