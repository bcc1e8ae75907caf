#include "analysis/necessity/judge/gated_pairs.h"

#include <gtest/gtest.h>

namespace diogenes::necessity {
namespace {

constexpr StreamNumber s0{0}, s1{1};
constexpr ThreadNumber A{0}, B{1};

Clock up_to(StreamNumber stream, uint32_t tick) {
  Clock clock;
  clock.raise(key_of(stream), tick);
  return clock;
}

std::vector<uint32_t> covered(GatedPairs& pairs, ThreadNumber thread, const Clock& possible) {
  std::vector<uint32_t> ticks;
  pairs.covered(thread, possible, [&](GatedPairs::Work work, AccessIndex) { ticks.push_back(work.tick); });
  return ticks;
}

using Ticks = std::vector<uint32_t>;

TEST(GatedPairs, EachThreadLooksAtAPairOnceItsWaitMayCoverIt) {
  GatedPairs pairs;
  pairs.add_gated(s1);
  for (const uint32_t tick : {1, 2, 4}) pairs.add({s0, tick}, AccessIndex{tick}, {s1, 1});
  EXPECT_EQ(covered(pairs, A, up_to(s1, 9)), Ticks{});
  EXPECT_EQ(covered(pairs, A, up_to(s0, 2)), (Ticks{1, 2}));
  EXPECT_EQ(covered(pairs, A, up_to(s0, 3)), Ticks{});
  pairs.add({s0, 1}, AccessIndex{1}, {s1, 2});  // other work is gated later, for an earlier access
  EXPECT_EQ(covered(pairs, A, up_to(s0, 4)), (Ticks{4, 1}));
  EXPECT_EQ(covered(pairs, B, up_to(s0, 4)), (Ticks{1, 2, 4, 1}));
}

TEST(GatedPairs, NobodyLetsGoWhatIsKnownToBeDone) {
  GatedPairs pairs;
  pairs.add_gated(s1);
  pairs.add({s0, 1}, AccessIndex{1}, {s1, 1});
  pairs.add({s0, 2}, AccessIndex{2}, {s1, 2});
  pairs.done(up_to(s1, 1));
  EXPECT_EQ(covered(pairs, A, up_to(s0, 9)), Ticks{2});
}

TEST(GatedPairs, ForgetsDonePairsAndThoseOfAccessesThatHaveGone) {
  GatedPairs pairs;
  pairs.add_gated(s1);
  for (const uint32_t tick : {1, 2, 3}) pairs.add({s0, tick}, AccessIndex{tick}, {s1, tick});
  EXPECT_EQ(covered(pairs, A, up_to(s0, 1)), Ticks{1});
  pairs.done(up_to(s1, 1));
  pairs.forget([](GatedPairs::Work work, AccessIndex) { return work.tick == 2; });
  EXPECT_EQ(pairs.size(), 1u);
  EXPECT_EQ(covered(pairs, A, up_to(s0, 9)), Ticks{3});
}

}  // namespace
}  // namespace diogenes::necessity
