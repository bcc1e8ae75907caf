// The decision which occurrences are looked at: figures by hand, no clock.
#include "agent/watching/facts/sampling.h"

#include <gtest/gtest.h>

#include <memory>

namespace diogenes::agent::facts {
namespace {

constexpr Nanoseconds seconds(double count) { return {static_cast<int64_t>(count * 1e9)}; }

// Of a baseline of 10 s and factor 3, 20 s may be spent; of these, 2.5 s ahead of time.
TEST(Budget, IsTwiceTheProgramsOwnTimeAndAnEighthOfTheWholeAhead) {
  const Budget budget{3, seconds(10)};
  EXPECT_FALSE(budget.is_over(seconds(4.4), seconds(5.4)));  // 1 s of its own: 2 + 2.5
  EXPECT_TRUE(budget.is_over(seconds(4.6), seconds(5.6)));
  EXPECT_FALSE(budget.is_over(seconds(19.9), seconds(29.9)));
  EXPECT_TRUE(budget.is_over(seconds(20.1), seconds(30.1)));   // 10 s of its own: nothing is left to take
  EXPECT_FALSE(budget.is_over(seconds(29.9), seconds(44.9)));  // this run does more than the baseline: 15 s
}

// Time that nobody accounts for, such as system calls that are handed over: 10 s, factor 3, half a baseline more.
TEST(Budget, IsUsedUpWhateverTookTheTime) {
  const Budget budget{3, seconds(10)};
  EXPECT_FALSE(budget.is_used_up(seconds(35)));
  EXPECT_TRUE(budget.is_used_up(seconds(36)));
  EXPECT_FALSE(Budget({1.1, seconds(0.01)}).is_used_up(seconds(0.5)));
  EXPECT_FALSE(Budget({}).is_used_up(seconds(1000)));
}

TEST(Budget, LeavesShortProgramsAlone) {
  const Budget budget{1.1, seconds(0.01)};
  EXPECT_FALSE(budget.is_over(seconds(0.5), seconds(0.51)));
  EXPECT_TRUE(budget.is_over(seconds(0.6), seconds(0.61)));
}

TEST(Budget, WithoutAFactorThereIsNone) { EXPECT_FALSE(Budget({}).is_over(seconds(1000), seconds(1000))); }

struct SamplingTest : testing::Test {
  SamplingTest() { start({2, seconds(1)}); }
  void start(const Budget& budget) { sampling->start(budget); }
  // Of the next `count` occurrences.
  int looked_at(SampledSite site, int count) {
    int looks = 0;
    for (int i = 0; i < count; ++i) looks += sampling->look(site);
    return looks;
  }
  // All time was spent: over the budget, and not on its way back.
  void spend_all(double until) { sampling->adapt(seconds(until), seconds(until)); }

  std::unique_ptr<Sampling> sampling = std::make_unique<Sampling>();
};

TEST_F(SamplingTest, OnceItIsUsedUpNothingIsLookedAt) {
  const SampledSite site = sampling->site_of(8, 1);
  EXPECT_FALSE(sampling->ends(seconds(2.9)));  // 2.5 baselines of 1 s, and the grace
  EXPECT_EQ(looked_at(site, 10), 10);
  EXPECT_TRUE(sampling->ends(seconds(3.1)));
  EXPECT_FALSE(sampling->ends(seconds(4)));
  EXPECT_EQ(looked_at(site, 10), 0);
  EXPECT_EQ(looked_at(0, 10), 0);
}

TEST_F(SamplingTest, WithinTheBudgetEveryOccurrenceIsLookedAt) {
  const SampledSite site = sampling->site_of(8, 1);
  EXPECT_EQ(looked_at(site, 100), 100);
  sampling->charge(site, seconds(0.4));
  sampling->adapt(seconds(0.4), seconds(10));
  EXPECT_EQ(looked_at(site, 100), 100);
}

TEST_F(SamplingTest, BeyondItTheSiteThatCostsMostIsLookedAtHalfAsOften) {
  const SampledSite cheap = sampling->site_of(8, 1), dear = sampling->site_of(8, 2);
  ASSERT_NE(cheap, dear);
  looked_at(cheap, 16), looked_at(dear, 16);
  sampling->charge(cheap, seconds(0.1));
  sampling->charge(dear, seconds(0.9));
  spend_all(1);
  EXPECT_EQ(looked_at(cheap, 1024), 1024);
  EXPECT_NEAR(looked_at(dear, 1024), 512, 2);
  sampling->charge(dear, seconds(0.9));
  spend_all(2);
  EXPECT_NEAR(looked_at(dear, 1024), 256, 2);
}

TEST_F(SamplingTest, WhatCostsNothingIsLeftAsItIs) {
  const SampledSite site = sampling->site_of(8, 1);
  looked_at(site, 16);
  sampling->charge(site, seconds(0.01));
  spend_all(1);
  EXPECT_EQ(looked_at(site, 64), 64);
}

TEST_F(SamplingTest, AFewOccurrencesAreAlwaysLookedAt) {
  const SampledSite site = sampling->site_of(8, 1);
  looked_at(site, 15);
  sampling->charge(site, seconds(0.03));
  spend_all(1);
  EXPECT_EQ(looked_at(site, 1), 1);
  sampling->charge(site, seconds(0.03));
  spend_all(2);
  EXPECT_LT(looked_at(site, 64), 64);
}

// Of 1 s that may be spent, each takes more than a 32nd.
TEST_F(SamplingTest, OfDearOccurrencesFewAreEnough) {
  const SampledSite site = sampling->site_of(8, 1);
  looked_at(site, 3);
  sampling->charge(site, seconds(0.6));
  spend_all(0.6);
  EXPECT_EQ(looked_at(site, 1), 1);
  sampling->charge(site, seconds(0.2));
  spend_all(1.2);
  EXPECT_LT(looked_at(site, 8), 8);
}

// 1 s was spent of 1; then 0.1 s of 1: still more than the program's own time, but less and less.
TEST_F(SamplingTest, OnItsWayBackNothingChanges) {
  const SampledSite site = sampling->site_of(8, 1);
  looked_at(site, 16);
  sampling->charge(site, seconds(1));
  spend_all(1.2);
  sampling->charge(site, seconds(0.1));
  sampling->adapt(seconds(1.3), seconds(2.2));
  EXPECT_NEAR(looked_at(site, 1024), 512, 2);
}

TEST_F(SamplingTest, SomeOccurrencesAreLookedAtWhateverTheyCost) {
  const SampledSite site = sampling->site_of(8, 1);
  looked_at(site, 16);
  for (int i = 1; i < 100; ++i) {
    sampling->charge(site, seconds(1));
    spend_all(i);
  }
  EXPECT_NEAR(looked_at(site, 1 << 14), 16, 2);
}

// Every second occurrence may be that of the same buffer.
TEST_F(SamplingTest, WhatAlternatesIsSeenInBoth) {
  const SampledSite site = sampling->site_of(8, 1);
  looked_at(site, 16);
  sampling->charge(site, seconds(1));
  spend_all(1);
  int looks[2] = {};
  for (int i = 0; i < 64; ++i) looks[i % 2] += sampling->look(site);
  EXPECT_GT(looks[0], 8);
  EXPECT_GT(looks[1], 8);
}

TEST_F(SamplingTest, WhatFindsNoRoomIsAlwaysLookedAt) {
  for (uint32_t stack = 1; stack <= 4096; ++stack) sampling->site_of(stack, 1);
  EXPECT_EQ(sampling->site_of(5000, 1), 0);
  EXPECT_NE(sampling->site_of(1, 1), 0);
  EXPECT_EQ(looked_at(0, 10), 10);
}

TEST_F(SamplingTest, WithoutALimitNoSiteIsCounted) {
  start({});
  EXPECT_EQ(sampling->site_of(8, 1), 0);
}

}  // namespace
}  // namespace diogenes::agent::facts
