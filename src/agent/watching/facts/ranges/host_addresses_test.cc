#include "agent/watching/facts/ranges/host_addresses.h"

#include <gtest/gtest.h>

namespace diogenes::agent::facts {
namespace {

TEST(HostAddresses, KnowMemoryThatAWordPointsTo) {
  HostAddresses words{};
  words.add(0x7f00'1234'5678);
  EXPECT_TRUE(words.may_hold({0x7f00'1234'5000, 0x7f00'1234'6000}));
  EXPECT_FALSE(words.may_hold({0x7f00'2234'5000, 0x7f00'2234'6000}));
}

TEST(HostAddresses, TakeNoNumbersForAddresses) {
  HostAddresses words{};
  words.add(42);
  words.add(0xffff'8000'0000'0000);
  EXPECT_FALSE(words.may_hold({0, 4096}));
}

TEST(HostAddresses, KnowMemoryThatWasReleased) {
  constexpr uint64_t kBegin = 0x2'0040'0000;
  HostAddresses words{};
  words.add(AddressRange{kBegin, kBegin + (6 << 20)});
  EXPECT_TRUE(words.may_hold({kBegin, kBegin + 4096}));
  EXPECT_TRUE(words.may_hold({kBegin + (5 << 20), kBegin + (9 << 20)}));
  EXPECT_FALSE(words.may_hold({kBegin + (6 << 20), kBegin + (9 << 20)}));
}

TEST(HostAddresses, KnowAllOfMuchMemoryThatWasReleased) {
  constexpr uint64_t kBegin = 0x7f00'0000'0000, kBytes = 20ull << 30, kStretch = 2 << 20;
  HostAddresses words{};
  words.add(AddressRange{kBegin, kBegin + kBytes});
  for (uint64_t at = kBegin; at < kBegin + kBytes; at += kStretch)
    ASSERT_TRUE(words.may_hold({at, at + 4096})) << at;
}

TEST(HostAddresses, SayYesOfMemoryThatIsTooLargeToLookAt) {
  HostAddresses words{};
  EXPECT_TRUE(words.may_hold({0x7000'0000'0000, 0x7100'0000'0000}));
}

}  // namespace
}  // namespace diogenes::agent::facts
