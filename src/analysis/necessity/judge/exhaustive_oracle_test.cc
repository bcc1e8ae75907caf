// The judge against the exhaustive oracle, on random traces. DIOGENES_RANDOM_TRACES: how many.
#include <gtest/gtest.h>

#include "analysis/necessity/judge/judge.h"
#include "analysis/necessity/judge/narrow_waits.h"
#include "analysis/necessity/testing/exhaustive_oracle.h"
#include "analysis/necessity/testing/random_timeline.h"

namespace diogenes::necessity::testing {
namespace {

std::vector<bool> not_needed(const Timeline& timeline, size_t forgets_after = 1024) {
  Judge judge(forgets_after);
  timeline.replay(judge);
  judge.finish();
  std::vector<bool> removed = judge.needed();
  removed.flip();
  return removed;
}

TEST(Oracle, EveryOrderedPairStaysOrderedWithAllFindingsTogether) {
  size_t needless = 0, all = 0;
  for (uint64_t seed = 0; seed < random_traces(3'000); ++seed) {
    const Timeline timeline = random_timeline(seed, 10 + seed % 35);
    if (timeline.events().size() > kMostEvents) continue;
    const std::vector<bool> removed = not_needed(timeline, seed % 2 == 0 ? 0 : 1024);
    const Oracle oracle(timeline.events());
    ASSERT_EQ(removed.size(), oracle.synchronizations().size());
    const std::string broken = oracle.broken_without(removed);
    std::string which;
    for (size_t i = 0; i < removed.size(); ++i) {
      if (removed[i]) which += " " + std::to_string(oracle.synchronizations()[i]);
    }
    ASSERT_EQ(broken, "") << "seed " << seed << ", not needed:" << which << '\n' << timeline.text();
    for (bool one : removed) needless += one;
    all += removed.size();
  }
  std::printf("%zu of %zu synchronizations not needed\n", needless, all);
}

// Of waits that are needed, those of which only later GPU work has need: whatever the judge said of them, all are tried.
TEST(Oracle, EveryOrderedPairStaysOrderedWhereTheGpuWaits) {
  size_t ordering = 0, all = 0;
  for (uint64_t seed = 0; seed < random_traces(3'000); ++seed) {
    const Timeline timeline = random_timeline(seed, 10 + seed % 35);
    if (timeline.events().size() > kMostEvents) continue;
    std::vector<bool> removed = not_needed(timeline), needed(removed.size());
    for (size_t i = 0; i < needed.size(); ++i) needed[i] = !removed[i];
    const Narrow narrow = narrow_waits([&](EventSink& sink) { timeline.replay(sink); }, needed,
                                       std::vector<bool>(needed.size(), true));
    if (narrow.orders.empty() || !narrow.copies.empty()) continue;
    for (size_t i = 0; i < needed.size(); ++i) removed[i] = removed[i] || narrow.orders[i];
    const Oracle oracle(timeline.events());
    ASSERT_EQ(oracle.broken_without(removed, narrow.orders), "") << "seed " << seed << '\n'
                                                                 << timeline.text();
    for (bool one : narrow.orders) ordering += one;
    all += needed.size();
  }
  EXPECT_GT(ordering, 0u);
  std::printf("%zu of %zu synchronizations only order GPU work\n", ordering, all);
}

TEST(Oracle, FewSitesAreKeptThatNeedNotBe) {
  size_t kept = 0, fewest = 0, traces = 0, more = 0;
  for (uint64_t seed = 0; seed < random_traces(3'000) / 10; ++seed) {
    const Timeline timeline = random_timeline(seed, 10 + seed % 35);
    if (timeline.events().size() > kMostEvents) continue;
    const Oracle oracle(timeline.events());
    const std::vector<bool> removed = not_needed(timeline);
    std::vector<uint32_t> sites;
    for (size_t i = 0; i < removed.size(); ++i) {
      const Event& event = timeline.events()[oracle.synchronizations()[i]];
      if (!removed[i] && !event.wait.own_work) sites.push_back(event.site.value);
    }
    std::sort(sites.begin(), sites.end());
    sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
    const size_t best = oracle.fewest_sites();
    EXPECT_GE(sites.size(), best);
    kept += sites.size();
    fewest += best;
    more += sites.size() > best;
    ++traces;
  }
  std::printf("%zu sites kept, %zu at best; more than the best in %zu of %zu traces\n", kept, fewest, more,
              traces);
}

}  // namespace
}  // namespace diogenes::necessity::testing
