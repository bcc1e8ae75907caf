// Windows of random traces: whatever is called needless by what a window shows, the whole trace does without.
// DIOGENES_RANDOM_TRACES: how many, in place of some hundred.
#include "analysis/necessity/testing/cut_traces.h"

#include <gtest/gtest.h>

#include "analysis/necessity/testing/random_timeline.h"

namespace diogenes::necessity::testing {
namespace {

CutCounts cut_random_traces(uint64_t traces, const CutOptions& options) {
  CutCounts counts;
  for (uint64_t seed = 0; seed < traces; ++seed) {
    const Timeline timeline = random_timeline(seed, 10 + seed % 35);
    cut_trace(seed % 3 == 0 ? with_senders(timeline) : timeline, seed, options, counts);
  }
  return counts;
}

TEST(CutTraces, AreSoundEachAloneAndAllTogether) {
  const CutCounts counts = cut_random_traces(random_traces(200), {.together = true});
  EXPECT_EQ(counts.broken, 0u) << counts.first_broken;
  EXPECT_GT(counts.found, 0u);
  std::printf("%s\n", counts.text().c_str());
}

// As a run has them, one behind the other.
TEST(CutTraces, SeveralWindowsOfARunAreSoundTogether) {
  const CutCounts counts = cut_random_traces(random_traces(200) / 2, {.cuts = 10, .windows = 3});
  EXPECT_EQ(counts.broken, 0u) << counts.first_broken;
  EXPECT_GT(counts.found, 0u);
  std::printf("%s\n", counts.text().c_str());
}

TEST(CutTraces, LoopsAreSoundAndShowMost) {
  CutCounts counts;
  for (uint64_t seed = 0; seed < random_traces(200) / 2; ++seed)
    cut_trace(looped(random_timeline(seed, 3 + seed % 6), 10), seed, {.cuts = 10}, counts);
  EXPECT_EQ(counts.broken, 0u) << counts.first_broken;
  EXPECT_GT(counts.found, 0u);
  std::printf("%s\n", counts.text().c_str());
}

// Those rules that random traces show to be needed soon; window_rules_test.cc has the others.
TEST(CutTraces, AreNotSoundWithoutTheUnknownWorkOfStreams) {
  EXPECT_GT(cut_random_traces(100, {.rules = {.unknown_work = false}}).broken, 0u);
}

TEST(CutTraces, AreNotSoundWhereEventsThatWereRecordedBeforeStandForNothing) {
  EXPECT_GT(cut_random_traces(100, {.rules = {.known_to_marks = false}}).broken, 0u);
}

}  // namespace
}  // namespace diogenes::necessity::testing
