// Which instances' values were followed, and what is said of them. Times in milliseconds: instances are far apart.
#include "analysis/findings/followed_values.h"

#include <gtest/gtest.h>

#include "analysis/necessity/judge_process.h"
#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

constexpr uint64_t kDevice = 0x7000'0000, kHost = 0x10'0000;
constexpr int64_t kMs = 1'000'000;

std::vector<Frame> at(uint64_t offset) { return {Frame::of(0, offset)}; }

// Instance `i` waits from 10 i to 10 i + 1 ms, and its result is touched 2 ms later.
Facts& waited(Facts& facts, uint32_t i, uint64_t touched_at) {
  const int64_t begin = (10 * i + 10) * kMs;
  facts.call("cuMemcpyDtoHAsync_v2", {.begin = begin - kMs,
                                      .stream = kLegacyStream,
                                      .operands = {operand(kDevice, 64, kReads, MemoryKind::device),
                                                   operand(kHost, 64, kWrites | kWhole, MemoryKind::pinned)},
                                      .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, 64)});
  facts.watch(i + 1, kHost, 64, begin + kMs / 2);
  facts.call("cuCtxSynchronize", {.begin = begin, .lasts = kMs, .after = 500, .flags = kWaited});
  return facts.touch_at(i + 1, begin + 3 * kMs, at(touched_at));
}
int64_t touch_of(uint32_t i) { return (10 * i + 13) * kMs; }

FollowedValues of_the_wait(const Facts& facts) {
  TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_judged_run(folder.path(), sites);
  const auto values = followed_values(*run, sites);
  for (uint32_t site = 0; site < sites.size(); ++site)
    if (operation_name(sites[SiteIndex{site}]) == "cuCtxSynchronize") return values[site];
  return {};
}

TEST(FollowedValues, AreCountedByInstanceAndUse) {
  Facts facts;
  facts.module("/app", 0x1000);
  for (uint32_t i = 0; i < 5; ++i) waited(facts, i, 0x20);
  facts.value(touch_of(0), at(0x20), ValueUse::branch, kValueCopied, touch_of(0) + 100, at(0x30));
  facts.value(touch_of(1), at(0x20), ValueUse::window, kValueCopied | kValueElsewhere, touch_of(1) + 100);
  facts.value(touch_of(3), at(0x20), ValueUse::branch, kValueComputed | kValueWatched, touch_of(3) + 300,
              at(0x30));
  const FollowedValues values = of_the_wait(facts);
  EXPECT_EQ(values.instances, 5u);
  EXPECT_EQ(values.followed, 3u);
  EXPECT_EQ(values.copied, 2u);
  EXPECT_EQ(values.computed, 1u);
  EXPECT_EQ(values.later, 1u);
  EXPECT_EQ(values.elsewhere, 1u);
}

// Another stack, or another time, is another touch.
TEST(FollowedValues, OfOtherTouchesSayNothingOfThis) {
  Facts facts;
  facts.module("/app", 0x1000);
  for (uint32_t i = 0; i < 2; ++i) waited(facts, i, 0x20);
  facts.value(touch_of(0), at(0x28), ValueUse::branch, 0, touch_of(0) + 100);
  facts.value(touch_of(1) + kMs, at(0x20), ValueUse::branch, 0, touch_of(1) + 2 * kMs);
  EXPECT_EQ(of_the_wait(facts).followed, 0u);
}

// What is known comes first, however rare.
TEST(FollowedValues, ConsequencesComeFirst) {
  Facts facts;
  facts.module("/app", 0x1000);
  for (uint32_t i = 0; i < 3; ++i) waited(facts, i, 0x20);
  facts.value(touch_of(0), at(0x20), ValueUse::window, 0, touch_of(0) + 100);
  facts.value(touch_of(1), at(0x20), ValueUse::window, 0, touch_of(1) + 100);
  facts.value(touch_of(2), at(0x20), ValueUse::driver, 0, touch_of(2) + 700, at(0x30));
  const FollowedValues values = of_the_wait(facts);
  ASSERT_GE(values.outcomes.size(), 2u);
  EXPECT_EQ(values.outcomes[0].use, ValueUse::driver);
  EXPECT_EQ(values.outcomes[0].after_ns, std::vector<int64_t>{700});
}

// One instruction is followed once; a needed wait that costs little is not worth a run.
TEST(PlacesToFollow, AreThoseOfWaitsThatCostMuch) {
  Facts facts;
  facts.module("/app", 0x1000);
  waited(facts, 0, 0x20);
  waited(facts, 1, 0x20);
  TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_judged_run(folder.path(), sites);
  Required required;
  required.up_to.benefit = {20};
  for (const Evidence& evidence : run->processes[0].threads[0].evidence)
    if (evidence.use_stack != kNoStack)
      required.uses.push_back({{run->processes[0].trace, evidence.use_stack}, 1});
  ASSERT_EQ(required.uses.size(), 2u);
  const auto places = places_to_follow({required}, {}, Nanoseconds{1000});
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].offset, 0x20u);
  EXPECT_NE(places[0].module, 0u);
  EXPECT_TRUE(places_to_follow({required}, {}, Nanoseconds{1001}).empty());
}

}  // namespace
}  // namespace diogenes
