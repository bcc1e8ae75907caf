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

TEST(HostAddresses, AreNoSmallNumbers) {
  EXPECT_FALSE(any_address().contain(42));
  EXPECT_FALSE(any_address().contain(0xffff'8000'0000'0000));
  static int variable;
  EXPECT_TRUE(any_address().contain(reinterpret_cast<uintptr_t>(&variable)));
}

TEST(HostAddresses, KnowMemoryByTheUpperPart) {
  HostAddresses words{};
  words.add_part(0x7f12, 32);
  EXPECT_TRUE(words.may_hold({0x7f12'1234'5000, 0x7f12'1234'6000}));
  EXPECT_FALSE(words.may_hold({0x7f13'1234'5000, 0x7f13'1234'6000}));
  for (uint64_t part = 0; part < 20; ++part) words.add_part(0x7000 + part, 32);
  EXPECT_TRUE(words.may_hold({0x7f13'1234'5000, 0x7f13'1234'6000}));  // too many: all
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
