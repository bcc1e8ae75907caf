// The check on literal traces, on the judge's findings for random traces, and on findings that are wrong.
#include "analysis/necessity/check.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/necessity/judge.h"
#include "analysis/necessity/testing/oracle.h"
#include "analysis/necessity/testing/random_timeline.h"

namespace diogenes::necessity::testing {
namespace {

CheckResult check(const Timeline& timeline, std::vector<Verdict>& verdicts) {
  return withdraw_unsound([&](EventSink& sink) { timeline.replay(sink); }, verdicts);
}

std::vector<Verdict> all_not_needed(size_t count) { return std::vector<Verdict>(count); }

TEST(Check, WithdrawsTheOnlyWaitBeforeAUse) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).watch(0, m0).end(A).touch(A, 0).ends();
  std::vector<Verdict> verdicts = all_not_needed(1);
  EXPECT_EQ(check(t, verdicts).withdrawn, 1u);
  EXPECT_EQ(verdicts[0].reasons, kUnresolved);
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
  std::vector<Verdict> verdicts = all_not_needed(2);
  verdicts[1].reasons = kCpuAccess;
  // Without a watch behind the first wait, somebody may have touched the data there.
  EXPECT_EQ(check(t, verdicts).withdrawn, 1u);
  Timeline watched;
  watched.work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).watch(0, m0).end(A);
  watched.sync(A, {s0}, 1).touch(A, 0).ends();
  verdicts[0].reasons = 0;
  EXPECT_EQ(check(watched, verdicts).withdrawn, 0u);
}

TEST(Check, WithdrawsNothingOfTheJudges) {
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    const Timeline timeline = random_timeline(seed, 10 + seed % 35);
    Judge judge;
    timeline.replay(judge);
    std::vector<Verdict> verdicts = judge.verdicts();
    ASSERT_EQ(check(timeline, verdicts).withdrawn, 0u) << "seed " << seed << '\n' << timeline.text();
  }
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
    std::vector<Verdict> verdicts(oracle.synchronizations().size());
    for (size_t i = 0; i < verdicts.size(); ++i) {
      const bool own = timeline.events()[oracle.synchronizations()[i]].wait.own_work;
      verdicts[i].reasons = own ? uint32_t{kOwnWork} : random() % 2 == 0 ? 0u : uint32_t{kCpuAccess};
    }
    auto removed = [&] {
      std::vector<bool> all;
      for (const Verdict& verdict : verdicts) all.push_back(verdict.reasons == 0);
      return all;
    };
    broken += !oracle.broken_without(removed()).empty();
    check(timeline, verdicts);
    const std::string left = oracle.broken_without(removed());
    if (left.ends_with("lets work go")) continue;
    ASSERT_EQ(left, "") << "seed " << seed << '\n' << timeline.text();
  }
  EXPECT_GT(broken, 500u);
}

}  // namespace
}  // namespace diogenes::necessity::testing
