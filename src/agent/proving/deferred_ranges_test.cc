// Which deferral a guard stands for; the guards themselves are replaced.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "agent/core/recording/recorder.h"
#include "agent/proving/deferred_guards.h"
#include "agent/proving/deferred_ranges.h"

namespace diogenes {

static Deferral done_until = ~Deferral{0};
static int taken_down = 0;
const Corrector the_corrector{nullptr,
                              nullptr,
                              nullptr,
                              nullptr,
                              [](Deferral deferral) { return deferral <= done_until; },
                              nullptr,
                              nullptr,
                              nullptr,
                              [](int64_t ns) { taken_down += ns > 0; },
                              nullptr,
                              nullptr,
                              nullptr};

namespace agent {

namespace {

std::map<GuardHandle, AddressRange> up;
std::map<GuardHandle, Protection> protections;
std::map<GuardHandle, Deferral> deferrals;
std::set<GuardHandle> telling, fallen;
GuardHandle next = 1;

}  // namespace

// Reading does not end a guard against writing.
void touch(AddressRange range, TouchBy, Access access) {
  std::erase_if(up, [&](const auto& guard) {
    const bool passes = access == Access::read && protections[guard.first] == Protection::read_only;
    if (passes || !guard.second.overlaps(range)) return false;
    fallen.insert(guard.first);
    deferrals.erase(guard.first);
    return true;
  });
}

GuardHandle raise_guard(AddressRange range, Protection protection, const Watching& how) {
  protections[next] = protection;
  up[next] = range;
  if (how.deferral != 0) deferrals[next] = how.deferral;
  if (how.tells) telling.insert(next);
  return next++;
}
Touch collect(GuardHandle guard) {
  return {.by = fallen.contains(guard) ? TouchBy::program : TouchBy::nobody};
}
Touch lower_guard(GuardHandle guard) {
  up.erase(guard);
  deferrals.erase(guard);
  return {};
}
bool defer_guard(GuardHandle guard, Deferral deferral, bool tells) {
  if (fallen.contains(guard)) return false;
  deferrals[guard] = deferral;
  telling.erase(guard);
  if (tells) telling.insert(guard);
  return true;
}
void count_drop(Drop) {}

namespace facts {
namespace {

constexpr AddressRange kOne{0x10000, 0x12000}, kOther{0x20000, 0x22000};
constexpr uint32_t kFirst = 2, kSecond = 3;  // streams

GivenRange written(AddressRange range, uint32_t stream) { return {{.range = range}, 0, stream}; }

struct Deferred : testing::Test {
  std::unique_ptr<DeferredRanges> dirty = std::make_unique<DeferredRanges>();
  void SetUp() override {
    deferrals.clear();
    telling.clear();
  }
  Undeferred wait(Deferral deferral, uint32_t stream) {
    return dirty->defer(deferral, {.stream = stream}, false);
  }
  std::map<GuardHandle, Deferral> guards() { return deferrals; }
};

TEST_F(Deferred, AWaitThatCoversARangeIsNotReplaced) {
  dirty->add(written(kOne, kFirst));
  EXPECT_EQ(wait(1, kFirst), Undeferred::none);
  dirty->add(written(kOther, kSecond));
  EXPECT_EQ(wait(2, kSecond), Undeferred::none);
  ASSERT_EQ(guards().size(), 2u);
  EXPECT_EQ(guards().begin()->second, 1u);
  EXPECT_EQ(guards().rbegin()->second, 2u);
}

// By events between streams, the first wait may have waited for it; the next surely does.
TEST_F(Deferred, WhatNoWaitSurelyCoversStandsForTheLatest) {
  dirty->add(written(kOne, kFirst));
  EXPECT_EQ(wait(1, kSecond), Undeferred::none);
  EXPECT_EQ(guards().begin()->second, 1u);
  EXPECT_EQ(wait(2, kFirst), Undeferred::none);
  EXPECT_EQ(guards().begin()->second, 2u);
  EXPECT_EQ(wait(3, kFirst), Undeferred::none);
  EXPECT_EQ(guards().begin()->second, 2u);
}

// A use of what a wait may cover, or of what a kernel was given and may not write, tells nothing of that wait.
TEST_F(Deferred, AUseTellsOfAWaitThatSurelyCoversACopy) {
  dirty->add(written(kOne, kFirst));
  EXPECT_EQ(wait(1, kSecond), Undeferred::none);
  EXPECT_TRUE(telling.empty());
  EXPECT_EQ(wait(2, kFirst), Undeferred::none);
  EXPECT_EQ(telling.size(), 1u);
  GivenRange mapped = written(kOther, kFirst);
  mapped.host.by_kernel = true;
  dirty->add(mapped);
  EXPECT_EQ(wait(3, kFirst), Undeferred::none);
  EXPECT_EQ(telling.size(), 1u);
  dirty->add(written(kOther, kFirst));  // a copy behind it
  EXPECT_EQ(wait(4, kFirst), Undeferred::none);
  EXPECT_EQ(telling.size(), 2u);
}

TEST_F(Deferred, NewWorkNeedsTheNextWait) {
  dirty->add(written(kOne, kFirst));
  wait(1, kFirst);
  dirty->add(written(kOne, kFirst));
  wait(2, kFirst);
  ASSERT_EQ(guards().size(), 1u);
  EXPECT_EQ(guards().begin()->second, 2u);
}

TEST_F(Deferred, WhatIsCoveredIsForgottenWhenItIsDone) {
  dirty->add(written(kOne, kFirst));
  dirty->add(written(kOther, kSecond));
  wait(1, kFirst);
  dirty->forget_deferred(1);
  EXPECT_FALSE(dirty->overlaps(kOne));
  EXPECT_TRUE(dirty->overlaps(kOther));  // its stream may work on
  EXPECT_TRUE(guards().empty());
  wait(2, kSecond);
  EXPECT_EQ(guards().size(), 1u);
}

TEST_F(Deferred, AnEarlierEndForgetsNothingLater) {
  dirty->add(written(kOne, kFirst));
  wait(2, kFirst);
  dirty->forget_deferred(1);
  EXPECT_TRUE(dirty->overlaps(kOne));
  EXPECT_EQ(guards().size(), 1u);
}

TEST_F(Deferred, ACallThatWaitedForgetsItsStream) {
  dirty->add(written(kOne, kFirst));
  dirty->add(written(kOther, kSecond));
  dirty->forget_waited({.stream = kSecond});
  EXPECT_TRUE(dirty->overlaps(kOne));
  EXPECT_FALSE(dirty->overlaps(kOther));
  dirty->forget_waited({.all = true});
  EXPECT_TRUE(dirty->empty());
}

TEST_F(Deferred, TakingGuardsDownIsACostOfCorrecting) {
  taken_down = 0;
  dirty->add(written(kOne, kFirst));
  dirty->forget_waited({.stream = kFirst});
  EXPECT_EQ(taken_down, 0);  // there was none
  dirty->add(written(kOne, kFirst));
  dirty->add(written(kOther, kFirst));
  wait(1, kFirst);
  dirty->forget_waited({.stream = kFirst});
  EXPECT_EQ(taken_down, 1);  // both together
  dirty->add(written(kOne, kFirst));
  wait(2, kFirst);
  dirty->forget_deferred(2);
  EXPECT_EQ(taken_down, 2);
}

TEST_F(Deferred, WhatIsNotDeliveredOutlivesTheWait) {
  dirty->add(written(kOne, kFirst));
  wait(1, kFirst);
  done_until = 0;
  dirty->forget_waited({.all = true});
  EXPECT_TRUE(dirty->overlaps(kOne));
  EXPECT_EQ(guards().size(), 1u);
  done_until = ~Deferral{0};
  dirty->forget_waited({.all = true});
  EXPECT_FALSE(dirty->overlaps(kOne));
}

// In two streams, a wait for one of them does not cover it.
TEST_F(Deferred, OneRangeInTwoStreams) {
  dirty->add(written(kOne, kFirst));
  dirty->add(written(kOne, kSecond));
  wait(1, kSecond);
  wait(2, kFirst);
  EXPECT_EQ(guards().begin()->second, 2u);
}

TEST_F(Deferred, SmallResultsAndKernelsBesideThreadsAreRefused) {
  GivenRange small = written(kOne, kFirst);
  small.host.method = WatchMethod::watchpoints;
  dirty->add(small);
  EXPECT_EQ(wait(1, kFirst), Undeferred::small);
  EXPECT_TRUE(guards().empty());
  dirty->forget_waited({.all = true});
  GivenRange mapped = written(kOne, kFirst);
  mapped.host.by_kernel = true;
  dirty->add(mapped);
  EXPECT_EQ(dirty->defer(1, {.stream = kFirst}, true), Undeferred::shared);
  EXPECT_EQ(dirty->defer(1, {.stream = kFirst}, false), Undeferred::none);
}

TEST_F(Deferred, WhoTouchedItAwaitedIt) {
  dirty->add(written(kOne, kFirst));
  wait(1, kFirst);
  touch(kOne, TouchBy::program, Access::read);
  wait(2, kSecond);
  EXPECT_FALSE(dirty->overlaps(kOne));
}

}  // namespace
}  // namespace facts
}  // namespace agent
}  // namespace diogenes
