// When guards go up and come down, by the rule of DESIGN.md, section 7; the guards themselves are replaced.
#include "agent/facts/dirty_ranges.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "agent/guard/watch_records.h"
#include "agent/recorder.h"

namespace diogenes::agent {

namespace {

struct Fake {
  std::map<GuardHandle, AddressRange> up;
  std::map<GuardHandle, Touch> fallen;
  std::vector<WatchRefusal> refusals;
  std::vector<uint32_t> watches;
  GuardHandle next = 1;
  uint32_t touches = 0, watch = 0;
  bool refuses = false;
  size_t room = 1000;
};
Fake fake;

// Whoever touches `range`.
void touch(AddressRange range, TouchBy by) {
  for (auto guard = fake.up.begin(); guard != fake.up.end();) {
    if (!guard->second.overlaps(range)) {
      ++guard;
      continue;
    }
    fake.fallen[guard->first] = Touch{by, Access::read, {1}, range.begin, 0};
    ++fake.touches;
    guard = fake.up.erase(guard);
  }
}

}  // namespace

GuardHandle raise_guard(AddressRange range, Protection, const Watching&) {
  if (fake.refuses || fake.up.size() >= fake.room) return kNoGuard;
  fake.up[fake.next] = range;
  return fake.next++;
}
Touch collect(GuardHandle guard) { return fake.fallen.contains(guard) ? fake.fallen[guard] : Touch{}; }
Touch lower_guard(GuardHandle guard) {
  fake.up.erase(guard);
  return {};
}
uint32_t touch_count() { return fake.touches; }
NoWatchpoints why_no_watchpoints() { return NoWatchpoints::all_taken; }
bool guards_wanted() { return true; }
uint32_t next_watch() { return ++fake.watch; }
void record_watch(uint32_t watch, AddressRange, Protection, Nanoseconds) { fake.watches.push_back(watch); }
void record_refusal(AddressRange, WatchRefusal refusal) { fake.refusals.push_back(refusal); }
void count_drop(Drop) {}

namespace facts {
namespace {

constexpr AddressRange kBuffer{0x10000, 0x14000}, kOther{0x20000, 0x21000};

HostRange written(AddressRange range) { return {.range = range, .whole = true}; }

struct DirtyRangesTest : testing::Test {
  DirtyRangesTest() : dirty(std::make_unique<DirtyRanges>()) {
    fake = {};
    dirty->reset();
  }
  std::unique_ptr<DirtyRanges> dirty;  // zeros, as in the agent
};

TEST_F(DirtyRangesTest, AreGuardedWhenACallHasWaited) {
  dirty->add(written(kBuffer));
  EXPECT_TRUE(fake.up.empty());
  dirty->raise(false);
  EXPECT_EQ(fake.up.size(), 1u);
  dirty->raise(false);  // stays up
  EXPECT_EQ(fake.watches, std::vector<uint32_t>{1});
}

TEST_F(DirtyRangesTest, OfOneThreadAreDoneWithTheFirstTouch) {
  dirty->add(written(kBuffer));
  dirty->raise(false);
  touch(kBuffer, TouchBy::program);
  dirty->raise(false);
  EXPECT_TRUE(fake.up.empty());
  EXPECT_TRUE(dirty->empty());
}

TEST_F(DirtyRangesTest, OfSeveralThreadsAreGuardedSoManyTimesForOnePieceOfWork) {
  dirty->add(written(kBuffer));
  for (int i = 0; i < kRaises + 2; ++i) {
    dirty->raise(true);
    touch(kBuffer, TouchBy::program);
  }
  EXPECT_EQ(fake.watches.size(), size_t{kRaises});
  EXPECT_EQ(fake.refusals, std::vector<WatchRefusal>{WatchRefusal::often});
  // New work begins anew.
  dirty->add(written(kBuffer));
  dirty->raise(true);
  EXPECT_EQ(fake.watches.size(), size_t{kRaises} + 1);
}

// A loop: download, wait, read, and again.
TEST_F(DirtyRangesTest, OfOneThreadAreGuardedForEachPieceOfWork) {
  for (uint32_t round = 1; round <= 4; ++round) {
    dirty->add(written(kBuffer));
    dirty->raise(false);
    EXPECT_EQ(fake.watches.size(), round);
    touch(kBuffer, TouchBy::program);
  }
}

// One watchpoint: data that nobody has touched yet comes before data that others may touch, too.
TEST_F(DirtyRangesTest, ASecondLookGivesWayToAFirstOne) {
  fake.room = 1;
  HostRange small = written(kBuffer), other = written(kOther);
  small.way = other.way = Way::watchpoints;
  dirty->add(small);
  dirty->raise(true);
  dirty->add(other);
  dirty->raise(true);  // both have their first look: who has it keeps it
  EXPECT_EQ(fake.refusals, std::vector<WatchRefusal>{WatchRefusal::small});
  touch(kBuffer, TouchBy::program);
  dirty->raise(true);
  EXPECT_EQ(fake.up.begin()->second, kOther);
  touch(kOther, TouchBy::program);
  dirty->raise(true);
  dirty->raise(true);
  fake.refusals.clear();
  dirty->add(small);  // new work
  dirty->raise(true);
  EXPECT_EQ(fake.up.begin()->second, kBuffer);
  EXPECT_EQ(fake.refusals, std::vector<WatchRefusal>{WatchRefusal::small});
}

TEST_F(DirtyRangesTest, StayGuardedWhereWorkIsGivenToThemUntouched) {
  dirty->add(written(kBuffer));
  dirty->raise(false);
  dirty->add(written(kBuffer));
  EXPECT_EQ(fake.up.size(), 1u);
  dirty->raise(false);
  EXPECT_EQ(fake.watches.size(), 1u);
}

TEST_F(DirtyRangesTest, ComeDownForTheDriverAndGoUpAgain) {
  dirty->add(written(kBuffer));
  dirty->raise(false);
  dirty->lower({0x11000, 0x11010});
  EXPECT_TRUE(fake.up.empty());
  dirty->restore({0x11000, 0x11010});
  EXPECT_EQ(fake.up.size(), 1u);
  EXPECT_EQ(fake.watches.size(), 2u);
}

TEST_F(DirtyRangesTest, GoUpAgainWhereTheDriversOwnCodeTouchedThemInTheCall) {
  dirty->add(written(kBuffer));
  dirty->raise(false);
  touch(kBuffer, TouchBy::driver);
  dirty->restore(kBuffer);
  EXPECT_EQ(fake.up.size(), 1u);
}

TEST_F(DirtyRangesTest, AreGoneWhereTheyWereReleased) {
  dirty->add(written(kBuffer));
  dirty->add(written(kOther));
  dirty->raise(false);
  dirty->forget({0x10000, 0x15000});
  ASSERT_EQ(fake.up.size(), 1u);
  EXPECT_EQ(fake.up.begin()->second, kOther);
}

TEST_F(DirtyRangesTest, AreOverwrittenByWorkThatWritesAllOfThem) {
  dirty->add(written({0x10000, 0x11000}));
  dirty->raise(false);
  dirty->add(written(kBuffer));
  EXPECT_TRUE(fake.up.empty());
  dirty->raise(false);
  ASSERT_EQ(fake.up.size(), 1u);
  EXPECT_EQ(fake.up.begin()->second, kBuffer);
}

TEST_F(DirtyRangesTest, ThatFellAndWentAreGuardedAgainWhereTheyComeAgain) {
  for (TouchBy by : {TouchBy::gone, TouchBy::program}) {
    dirty->add(written(kBuffer));
    dirty->raise(false);
    touch(kBuffer, by);
    dirty->raise(false);
    ASSERT_TRUE(dirty->empty());
  }
  dirty->add(written(kBuffer));
  dirty->raise(false);
  EXPECT_EQ(fake.up.size(), 1u);
}

TEST_F(DirtyRangesTest, SayOnceThatTheyCannotBeWatched) {
  fake.refuses = true;
  dirty->add(written(kBuffer));
  dirty->raise(false);
  dirty->raise(false);
  EXPECT_EQ(fake.refusals, std::vector<WatchRefusal>{WatchRefusal::limit});
  fake.refuses = false;
  dirty->raise(false);
  EXPECT_EQ(fake.up.size(), 1u);
}

TEST_F(DirtyRangesTest, ThatNobodyMayWatchAreSaidAndForgotten) {
  HostRange host = written(kBuffer);
  host.refusal = WatchRefusal::shared_memory;
  dirty->add(host);
  dirty->raise(false);
  EXPECT_EQ(fake.refusals, std::vector<WatchRefusal>{WatchRefusal::shared_memory});
  EXPECT_TRUE(dirty->empty());
}

}  // namespace
}  // namespace facts
}  // namespace diogenes::agent
