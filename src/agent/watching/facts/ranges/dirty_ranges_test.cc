// When guards go up and come down, by the rules of docs/necessity.md, Watching; the guards themselves are replaced.
#include "agent/watching/facts/ranges/dirty_ranges.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "agent/core/recording/recorder.h"
#include "agent/watching/guard/watch_records.h"

namespace diogenes::agent {

namespace {

struct Fake {
  std::map<GuardHandle, AddressRange> up;
  std::map<GuardHandle, Protection> protections;
  std::map<GuardHandle, Touch> fallen;
  std::vector<WatchRefusal> refusals;
  std::vector<AddressRange> refused;
  std::vector<uint32_t> watches;
  GuardHandle next = 1;
  uint32_t touches = 0, watch = 0;
  bool refuses = false;
  size_t room = 1000;
};
Fake fake;

}  // namespace

// Whoever touches `range`. Reading does not end a guard against writing.
void touch(AddressRange range, TouchBy by, Access access) {
  for (auto guard = fake.up.begin(); guard != fake.up.end();) {
    const bool passes = access == Access::read && fake.protections[guard->first] == Protection::read_only;
    if (passes || !guard->second.overlaps(range)) {
      ++guard;
      continue;
    }
    fake.fallen[guard->first] = Touch{by, access, {1}, range.begin, 0};
    ++fake.touches;
    guard = fake.up.erase(guard);
  }
}
void touch(AddressRange range, TouchBy by) { touch(range, by, Access::read); }

GuardHandle raise_guard(AddressRange range, Protection protection, const Watching&) {
  if (fake.refuses || fake.up.size() >= fake.room) return kNoGuard;
  fake.protections[fake.next] = protection;
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
void record_refusal(AddressRange range, WatchRefusal refusal) {
  fake.refusals.push_back(refusal);
  fake.refused.push_back(range);
}
void count_drop(Drop) {}

namespace facts {
namespace {

constexpr AddressRange kBuffer{0x10000, 0x14000}, kOther{0x20000, 0x21000};

HostRange written(AddressRange range) { return {.range = range, .whole = true}; }
HostRange read_by_work(AddressRange range) { return {.range = range, .protection = Protection::read_only}; }
// Watched by watchpoints.
HostRange small(AddressRange range, bool whole = false) {
  return {.range = range, .method = WatchMethod::watchpoints, .whole = whole};
}
// 8 bytes, each in a part of its own.
AddressRange word(uintptr_t number) { return AddressRange::of(0x10000 + number * 32, 8); }

std::vector<AddressRange> guarded() {
  std::vector<AddressRange> ranges;
  for (const auto& [guard, range] : fake.up) ranges.push_back(range);
  return ranges;
}
using Ranges = std::vector<AddressRange>;
using Refusals = std::vector<WatchRefusal>;

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
  const HostRange first = small(kBuffer, true), other = small(kOther, true);
  dirty->add(first);
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
  dirty->add(first);  // new work
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

// One piece of work writes the buffer and another reads it. The program's reading ends the guard against
// reading alone; its writing later ends the other.
TEST_F(DirtyRangesTest, ThatAreReadAndWrittenByWorkAreGuardedTwice) {
  dirty->add(written(kBuffer));
  dirty->add(read_by_work(kBuffer));
  dirty->raise(false);
  ASSERT_EQ(guarded(), (Ranges{kBuffer, kBuffer}));
  touch(kBuffer, TouchBy::program, Access::read);
  dirty->raise(false);
  ASSERT_EQ(guarded(), Ranges{kBuffer});
  EXPECT_EQ(fake.protections[fake.up.begin()->first], Protection::read_only);
  touch(kBuffer, TouchBy::program, Access::write);
  dirty->raise(false);
  EXPECT_TRUE(dirty->empty());
}

// Watchpoints are few.
TEST_F(DirtyRangesTest, SmallOnesThatAreReadAndWrittenAreGuardedOnce) {
  HostRange read = small(word(0));
  read.protection = Protection::read_only;
  dirty->add(small(word(0)));
  dirty->add(read);
  dirty->raise(false);
  ASSERT_EQ(guarded(), Ranges{word(0)});
  EXPECT_EQ(fake.protections[fake.up.begin()->first], Protection::no_access);
}

// One watchpoint. The older range was of a stack frame that ended, and another one lies there now.
TEST_F(DirtyRangesTest, AFirstLookGivesWayToALaterOneAtTheSameBytes) {
  fake.room = 1;
  constexpr AddressRange old{0x10000, 0x10008}, now{0x10004, 0x1000c};
  dirty->add(small(old));
  dirty->raise(false);
  dirty->add(small(now));
  dirty->raise(false);
  EXPECT_EQ(guarded(), Ranges{now});
  EXPECT_EQ(fake.refusals, Refusals{WatchRefusal::small});
  EXPECT_EQ(fake.refused, Ranges{old});
}

// A small range is in a stack frame that is laid out in another way now and then: what lies inside the range
// that is written goes, whichever came first.
TEST_F(DirtyRangesTest, SmallOnesAreOverwrittenThoughTheLargerOneIsKnown) {
  constexpr AddressRange inner{0x10008, 0x10010}, outer{0x10000, 0x10020};
  for (bool inner_first : {true, false}) {
    fake = {};
    dirty->reset();
    dirty->add(small(inner_first ? inner : outer));
    dirty->add(small(inner_first ? outer : inner));
    dirty->raise(false);
    ASSERT_EQ(fake.up.size(), 2u);
    dirty->add(small(outer, true));
    dirty->raise(false);
    EXPECT_EQ(guarded(), Ranges{outer}) << inner_first;
  }
}

// 1 MiB and some bytes that begin in the middle of a page: parts end where pages do.
TEST_F(DirtyRangesTest, OfMuchDataAreGuardedInParts) {
  constexpr AddressRange much{0x100800, 0x200900};
  constexpr AddressRange first{0x100800, 0x141000}, second{0x141000, 0x182000}, third{0x182000, 0x1c3000},
      last{0x1c3000, 0x200900};
  dirty->add(written(much));
  dirty->raise(false);
  ASSERT_EQ(guarded(), (Ranges{last, third, second, first}));
  touch({0x150000, 0x150008}, TouchBy::program);
  dirty->add(written(much));
  dirty->raise(false);
  // The others were not touched: their guards stand, and are as before.
  EXPECT_EQ(guarded(), (Ranges{last, third, first, second}));
  EXPECT_EQ(fake.watches.size(), 5u);
  dirty->forget(much);
  EXPECT_TRUE(dirty->empty());
}

// What is read by work alone brings nothing; and no part is smaller than it is worth.
TEST_F(DirtyRangesTest, OfLessDataOrThatIsReadAloneAreGuardedWhole) {
  constexpr AddressRange less{0x100000, 0x150000}, half{0x100000, 0x180000};
  dirty->add(written({0x100000, 0x140000}));
  dirty->raise(false);
  EXPECT_EQ(fake.up.size(), 1u);
  fake = {};
  dirty->reset();
  dirty->add(written(half));
  dirty->raise(false);
  EXPECT_EQ(fake.up.size(), 2u);
  fake = {};
  dirty->reset();
  dirty->add(read_by_work(half));
  HostRange refused = written(less);
  refused.refusal = WatchRefusal::shared_memory;
  dirty->add(refused);
  dirty->raise(false);
  EXPECT_EQ(fake.up.size(), 1u);
  EXPECT_EQ(fake.refusals.size(), 1u);
}

// Where there are many, none is taken apart: what fits is watched.
TEST_F(DirtyRangesTest, OfMuchDataAreGuardedWholeWhereThereAreMany) {
  fake.room = kMaximumDirty;
  for (uintptr_t i = 0; i < kMaximumDirty / 2; ++i)
    dirty->add(written(AddressRange::of(0x10000000 + i * 0x1000, 0x1000)));
  dirty->add(written({0x100000, 0x200000}));
  dirty->raise(false);
  EXPECT_EQ(fake.up.size(), size_t{kMaximumDirty / 2 + 1});
}

// Parts of 2 MiB and more end where huge pages do: protecting one takes no huge page apart.
TEST_F(DirtyRangesTest, PartsOfVeryMuchDataEndAtHugePages) {
  dirty->add(written({0x10010000, 0x10010000 + (9u << 20)}));
  dirty->raise(false);
  for (const AddressRange& range : guarded())
    EXPECT_TRUE(range.end % (2u << 20) == 0 || range.end == 0x10010000 + (9u << 20)) << std::hex << range.end;
  EXPECT_GE(fake.up.size(), 2u);
  EXPECT_LE(fake.up.size(), 4u);
}

}  // namespace
}  // namespace facts
}  // namespace diogenes::agent
