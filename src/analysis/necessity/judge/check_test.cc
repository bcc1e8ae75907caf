// The check on literal traces, on the judge's findings for random traces, and on findings that are wrong.
#include "analysis/necessity/judge/check.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/necessity/judge/judge.h"
#include "analysis/necessity/testing/exhaustive_oracle.h"
#include "analysis/necessity/testing/random_timeline.h"

namespace diogenes::necessity::testing {
namespace {

CheckResult check(const Timeline& timeline, std::vector<bool>& needed) {
  constexpr size_t kForgetsAtOnce = 0;
  return withdraw_unsound([&](EventSink& sink) { timeline.replay(sink); }, needed, kForgetsAtOnce);
}

TEST(Check, WithdrawsTheOnlyWaitBeforeAUse) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).watch(0, m0).end(A).touch(A, 0).ends();
  std::vector<bool> needed{false};
  EXPECT_EQ(check(t, needed).withdrawn, 1u);
  EXPECT_TRUE(needed[0]);
}

TEST(Check, KeepsAFindingThatAnotherWaitCovers) {
  Timeline t;
  t.work(A, s0, {host_write(m0)})
      .sync(A, {s0}, 0)
      .begin(A)
      .sync(A, {s0}, 1)
      .watch(0, m0)
      .end(A)
      .touch(A, 0)
      .ends();
  std::vector<bool> needed{false, true};
  // Without a watch behind the first wait, somebody may have touched the data there.
  EXPECT_EQ(check(t, needed).withdrawn, 1u);
  Timeline watched;
  watched.work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).watch(0, m0).end(A);
  watched.sync(A, {s0}, 1).touch(A, 0).ends();
  needed[0] = false;
  EXPECT_EQ(check(watched, needed).withdrawn, 0u);
}

// What it withdraws is sound all the same, says the oracle: of 100,000 traces, the findings of three.
TEST(Check, WithdrawsHardlyAnythingOfTheJudges) {
  const uint64_t traces = random_traces(3'000);
  uint64_t withdrawn = 0;
  for (uint64_t seed = 0; seed < traces; ++seed) {
    const Timeline timeline = random_timeline(seed, 10 + seed % 35);
    Judge judge;
    timeline.replay(judge);
    judge.finish();
    std::vector<bool> needed = judge.needed();
    if (check(timeline, needed).withdrawn != 0) ++withdrawn;
  }
  EXPECT_LE(withdrawn, traces / 1'000) << "of " << traces;
}

// With findings made up by chance, the check leaves none that breaks an order, as far as it looks: what the
// CPU may let go is told apart only by the oracle.
TEST(Check, WithdrawsWhatTheOracleFindsBroken) {
  std::mt19937_64 random(1);
  size_t broken = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    const Timeline timeline = random_timeline(seed, 10 + seed % 35);
    if (timeline.events().size() > kMostEvents) continue;
    const Oracle oracle(timeline.events());
    std::vector<bool> needed(oracle.synchronizations().size());
    for (size_t i = 0; i < needed.size(); ++i) {
      needed[i] = timeline.events()[oracle.synchronizations()[i]].wait.own_work || random() % 2 == 0;
    }
    auto removed = [&] {
      std::vector<bool> all = needed;
      all.flip();
      return all;
    };
    broken += !oracle.broken_without(removed()).empty();
    check(timeline, needed);
    const std::string left = oracle.broken_without(removed());
    if (left.ends_with("lets work go")) continue;
    ASSERT_EQ(left, "") << "seed " << seed << '\n' << timeline.text();
  }
  EXPECT_GT(broken, 500u);
}

}  // namespace
}  // namespace diogenes::necessity::testing
