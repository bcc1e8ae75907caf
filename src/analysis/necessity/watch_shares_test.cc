// What six further runs of stage 3 change in the verdicts of the first one.
#include "analysis/necessity/watch_shares.h"

#include <gtest/gtest.h>

#include <optional>

#include "analysis/testing/trace_builder.h"
#include "trace/testing/facts_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

// One piece of work, and two waits behind it.
struct Waits {
  uint32_t first = 0, second = 0;  // reasons
  uint32_t small_parts = 7;
  uint64_t work = 0x50;       // where it is given
  bool second_judged = true;  // else this run has no verdict of it
};

Timeline program(const Waits& waits) {
  auto trace = timeline().launch(1).from(waits.work).gives_work(waits.small_parts);
  trace.sync(lasting(1)).from(0x100).needed(waits.first).sync(lasting(1)).from(0x200);
  if (waits.second_judged) trace.needed(waits.second);
  return trace;
}

struct Session {
  explicit Session(const Timeline& first) { write(1, first); }
  // All six shares: as `usual`, but the one numbered `share`.
  Session(const Timeline& first, const Timeline& usual, int share = -1, const Timeline& other = {})
      : Session(first) {
    for (int i = 0; i < kWatchShares; ++i) add_share(i, i == share ? other : usual);
  }
  void add_share(int share, const Timeline& trace) { write(watch_run(static_cast<uint8_t>(share)), trace); }

  const Evidence& evidence(size_t operation) {
    if (!run) {
      auto loaded = load_memory_tracing(folder.path(), sites, {.by_hand = verdicts_by_hand});
      EXPECT_TRUE(loaded.ok());
      run = std::move(*loaded);
    }
    return run->processes.at(0).threads.at(0).evidence.at(operation);
  }
  std::vector<uint32_t> reasons() { return {evidence(1).reasons, evidence(2).reasons}; }

  TemporaryFolder folder;

 private:
  void write(int number, const Timeline& trace) {
    ProcessOptions options;
    options.stage = Stage::memory_tracing;
    write_process(folder.path() / run_name(Stage::memory_tracing, number), trace, options);
  }
  SiteTable sites;
  std::optional<Run> run;
};
using Reasons = std::vector<uint32_t>;

const Waits kOpen{.first = kSmallRange, .second = kSmallRange | kOtherThread};

TEST(WatchShares, TakeOverWhereTheyLeaveFewerOpen) {
  EXPECT_EQ(Session(program(kOpen)).reasons(), Reasons({kSmallRange, kSmallRange | kOtherThread}));
  EXPECT_EQ(Session(program(kOpen), program({})).reasons(), Reasons({0, 0}));
}

// A wait that something else keeps, too, is not open.
TEST(WatchShares, OpenIsWhatOnlyUnwatchedRangesKeep) {
  Session open(program({.second = kSmallRange | kOtherThread}), program({}));
  EXPECT_EQ(open.reasons(), Reasons({0, 0}));
  Session kept(program({.second = kSmallRange | kOrder}), program({}));
  EXPECT_EQ(kept.reasons(), Reasons({0, kSmallRange | kOrder}));
}

TEST(WatchShares, WhatOneOfThemCallsNeededIsNeeded) {
  Session session(program(kOpen), program({}), 3, program({.second = kCpuAccess}));
  EXPECT_EQ(session.reasons(), Reasons({0, kCpuAccess}));
}

TEST(WatchShares, SayNothingWhereOneIsMissing) {
  Session session(program(kOpen));
  for (int share = 0; share < kWatchShares - 1; ++share) session.add_share(share, program({}));
  EXPECT_EQ(session.reasons(), Reasons({kOpen.first, kOpen.second}));
}

// They numbered the parts of small ranges in different ways: some part was watched by nobody.
TEST(WatchShares, SayNothingWhereTheirWorkDiffers) {
  for (const Waits& other : {Waits{.small_parts = 8}, Waits{.work = 0x60}}) {
    Session session(program(kOpen), program({}), kWatchShares - 1, program(other));
    EXPECT_EQ(session.reasons(), Reasons({kOpen.first, kOpen.second}));
  }
}

TEST(WatchShares, SayNothingWhereOneNeedsAWaitThatTheFirstRunDidNotHave) {
  Timeline longer = program({});
  longer.sync(lasting(1)).from(0x300).needed(kCpuAccess);
  Session session(program(kOpen), program({}), 2, longer);
  EXPECT_EQ(session.reasons(), Reasons({kOpen.first, kOpen.second}));
}

// Threads are numbered in the order in which they make their first calls, which differs.
TEST(WatchShares, FitTogetherWhereThreadsComeInAnotherOrder) {
  auto threads = [](int one, int other, uint32_t reasons) {
    auto trace = timeline().sync(lasting(1)).from(0x100).needed(reasons);
    trace.sync(lasting(1)).from(0x200).unnecessary();
    trace.sync(lasting(1)).from(0x300).unnecessary();
    trace.on_thread(one).launch(1).from(0x50).gives_work(1);
    return trace.on_thread(other).launch(1).from(0x60).gives_work(2);
  };
  Session session(threads(1, 2, kSmallRange), threads(1, 2, 0), 2, threads(2, 1, 0));
  EXPECT_EQ(session.evidence(0).reasons, 0u);
}

// The first run left the first wait open, and share 2 leaves the second one: all stays as it is.
TEST(WatchShares, ChangeNothingWhereTheyLeaveAsManyOpen) {
  Session session(program({.first = kSmallRange}), program({}), 2, program({.second = kSmallRange}));
  EXPECT_EQ(session.reasons(), Reasons({kSmallRange, 0}));
}

TEST(WatchShares, AnInstanceThatNotAllHaveJudgedKeepsItsReasons) {
  Session session(program(kOpen), program({}), 4, program({.second_judged = false}));
  EXPECT_EQ(session.reasons(), Reasons({0, kOpen.second}));
}

// One more is not watched by them all than the first run left open: that does not count as one less.
TEST(WatchShares, AnInstanceThatNotAllHaveJudgedIsAsOpenAsItWas) {
  Session session(program({.second = kSmallRange}), program({}), 4,
                  program({.first = kCpuAccess, .second_judged = false}));
  EXPECT_EQ(session.reasons(), Reasons({0, kSmallRange}));
}

// When each was used first, no single run has seen; where nothing else is said of it, the first run's holds.
TEST(WatchShares, FirstUseTimesGoWithTheReasonsTheyBelongTo) {
  auto trace = [](uint32_t first, uint32_t second, uint32_t third) {
    auto made = timeline().launch(1).from(0x50).gives_work();
    made.sync(lasting(1)).from(0x100).first_use(after(10), first);
    made.sync(lasting(1)).from(0x200).first_use(after(20), second);
    return made.sync(lasting(1)).from(0x300).needed(third);
  };
  Session session(trace(kCpuAccess, kCpuAccess, kSmallRange), trace(kCpuAccess, kCpuAccess, 0), 1,
                  trace(kCpuAccess, kCpuAccess | kOrder, 0));
  EXPECT_EQ(session.evidence(1).after_ns, 10'000);
  EXPECT_NE(session.evidence(1).use_stack, kNoStack);
  EXPECT_EQ(session.evidence(2).reasons, kCpuAccess | kOrder);
  EXPECT_EQ(session.evidence(2).after_ns, -1);
  EXPECT_EQ(session.evidence(2).use_stack, kNoStack);
  EXPECT_EQ(session.evidence(3).reasons, 0u);
}

TEST(WatchShares, ConditionsOfAnyOfThemHold) {
  auto conditional = program({});
  conditional.conditions(kConditionArguments);
  Session session(program(kOpen), program({}), 5, conditional);
  EXPECT_EQ(session.evidence(1).conditions, 0);
  EXPECT_EQ(session.evidence(2).conditions, kConditionArguments);
}

// Three downloads into small ranges: one that is not watched, one that is touched, one that is not touched.
TEST(WatchShares, CountUnwatchedCountsWhatOnlyTheyWouldTell) {
  constexpr uint64_t kDevice = 0x7000'0000, kHost = 0x10'0000;
  Facts facts;
  for (uint32_t i = 0; i < 3; ++i) {
    const uint64_t host = kHost + 4096 * i;
    const int64_t begin = 100 * (i + 1);
    if (i == 0)
      facts.watch(0, host, 8, begin + 12, WatchRefusal::small);
    else
      facts.watch(i, host, 8, begin + 12);
    facts.call("cuMemcpyDtoH_v2", {.begin = begin,
                                   .after = 5,
                                   .flags = kWaited,
                                   .stream = kLegacyStream,
                                   .operands = {operand(kDevice, 8, kReads, MemoryKind::device),
                                                operand(host, 8, kWrites | kWhole, MemoryKind::pageable)},
                                   .stack = {Frame::of(0, 0x100 + 16 * i)},
                                   .transfer = transfer_of(MemoryKind::pageable, MemoryKind::device, 8)});
    if (i == 1) facts.touch(1, begin + 50);
  }
  TemporaryFolder folder;
  facts.write(folder.path() / run_name(Stage::memory_tracing, 1));
  EXPECT_EQ(count_unwatched(folder.path()), 1u);
  EXPECT_EQ(count_unwatched(folder.path() / "nothing"), 0u);
}

}  // namespace
}  // namespace diogenes
