// What threads do to each other, and what is watched: the merge by time.
#include <gtest/gtest.h>

#include "analysis/necessity/testing/interpreted.h"

namespace diogenes::necessity {
namespace {

using namespace diogenes::testing;
using namespace testing;
using Lines = std::vector<std::string>;

constexpr uint64_t kHost = 0x10'0000, kLock = 0x5000;

TEST(Watches, RaisedTouchedAndGivenUp) {
  Facts facts;
  facts.watch(1, kHost, 64, 10).watch(2, kHost + 4096, 64, 10, {}, WatchProtection::read_only);
  facts.watch(3, kHost + 8192, 64, 11).watch(0, kHost + 12288, 8, 12, WatchRefusal::small);
  facts.touch(1, 20).touch(2, 21, Touching::writes).unwatch(3, 22, WatchEnd::given_up);
  EXPECT_EQ(events(facts), (Lines{"10 watch t0 w0 m0 0x100000+64", "10 watch t0 w1 m0 0x101000+64 read_only",
                                  "11 watch t0 w2 m0 0x102000+64", "12 unwatched t0 m0 0x103000+8 blind=0x40",
                                  "20 touch t0 w0 m0 0x100000+64", "21 touch t0 w1 m0 0x101000+64 writes",
                                  "22 unwatch t0 w2 m0 0x102000+64 lost"}));
}

TEST(Watches, MemoryThatGoesUnderAWatchIsReleased) {
  Facts facts;
  facts.watch(1, kHost, 64, 10).unwatch(1, 20, WatchEnd::released).watch(2, kHost, 64, 30);
  facts.unwatch(2, 40).memory_event(MemoryEvent::moved, kHost, 4096, 50);
  EXPECT_EQ(events(facts),
            (Lines{"10 watch t0 w0 m0 0x100000+64", "20 unwatch t0 w0 m0 0x100000+64",
                   "20 releases t0 w0 m0 0x100000+64", "30 watch t0 w1 m0 0x100000+64",
                   "40 unwatch t0 w1 m0 0x100000+64", "50 releases t0 m0 0x100000+4096 lives_on",
                   "50 releases t0 m0 0x100000+4096"}));
}

// malloc gives registered memory out again, and the GPU writes there still. What the driver allocated stays what it is.
TEST(Watches, MemoryThatTheDriverKnowsIsNotGone) {
  for (MemoryKind kind : {MemoryKind::registered, MemoryKind::pinned}) {
    Facts facts;
    facts.call(kind == MemoryKind::pinned ? "cuMemAllocHost_v2" : "cuMemHostRegister_v2",
               {.begin = 0, .allocation = allocated(kHost, 4096, kind)});
    facts.watch(1, kHost, 64, 20).unwatch(1, 30, WatchEnd::released);
    facts.memory_event(MemoryEvent::released, kHost + 1024, 64, 40);
    const std::string how = kind == MemoryKind::pinned ? " lives_on" : " in_reach";
    EXPECT_EQ(events(facts),
              (Lines{"20 watch t0 w0 m0 0x100000+64", "30 unwatch t0 w0 m0 0x100000+64",
                     "30 releases t0 w0 m0 0x100000+64" + how, "40 releases t0 m0 0x100400+64" + how}));
  }
}

TEST(Watches, RegionsThatNobodyNamedDoNotMatter) {
  EXPECT_EQ(events(Facts().memory_event(MemoryEvent::released, kHost, 4096, 50)), Lines{});
}

// A touch that another thread wrote down for it; one of a thread that has no file.
TEST(Watches, LateTouchesAreMergedByTheirTime) {
  Facts facts;
  facts.watch(1, kHost, 64, 10).watch(2, kHost + 64, 64, 10);
  facts.call("cuCtxSynchronize", {.begin = 50}).late_touch(1, 20, 1).late_touch(2, 30, UINT32_MAX);
  facts.on(1).call("cuCtxSynchronize", {.begin = 15, .lasts = 1});
  EXPECT_EQ(events(facts),
            (Lines{"10 watch t0 w0 m0 0x100000+64", "10 watch t0 w1 m0 0x100040+64", "16 covers t1",
                   "20 touch t1 w0 m0 0x100000+64", "30 touch w1 m0 0x100040+64", "60 covers t0"}));
}

// The toucher's clock was read before that of the thread that raised the watch.
TEST(Watches, ATouchThatIsEarlierThanItsWatchComesRightBehindIt) {
  Facts facts;
  facts.watch(1, kHost, 64, 20).on(1).touch(1, 19);
  auto all = all_events(facts);
  EXPECT_EQ(all.lines, (Lines{"20 watch t0 w0 m0 0x100000+64", "20 touch t1 w0 m0 0x100000+64", "20 ends"}));
  EXPECT_EQ(all.unclear, Unclear{});
}

TEST(Watches, UnseenTouchesAreNobodysInParticular) {
  Facts facts;
  facts.watch(1, kHost, 64, 10).touch(1, 20, Touching::unknown, Toucher::unseen);
  EXPECT_EQ(events(facts).back(), "20 touch w0 m0 0x100000+64 writes");
}

// The end of a call's recording is not known: the watch belongs into it all the same.
TEST(Watches, TimesAreClampedIntoTheirCall) {
  Facts facts;
  facts.watch(1, kHost, 64, 99).call("cuCtxSynchronize", {.begin = 10, .lasts = 10, .after = 5});
  EXPECT_EQ(all_events(facts).lines,
            (Lines{"10 begin t0", "20 covers t0", "25 watch t0 w0 m0 0x100000+64", "25 end t0", "25 ends"}));
}

// The call that gave it was ordered as work that may use anything. Where no such call was seen, its thread is
// the only thing that is known.
TEST(Watches, TouchesByHostFunctionsAreOfNoThreadOnceOneWasGiven) {
  Facts facts;
  facts.watch(1, kHost, 64, 10).watch(2, kHost + 64, 64, 11);
  facts.touch(1, 20, Touching::reads, Toucher::host_function);
  facts.call("cuLaunchHostFunc", {.begin = 30, .stream = kLegacyStream, .list_flags = kRunsOnHost});
  facts.touch(2, 50, Touching::reads, Toucher::host_function);
  auto lines = events(facts);
  std::erase_if(lines, [](const std::string& line) { return line.find(" work ") != line.npos; });
  EXPECT_EQ(lines, (Lines{"10 watch t0 w0 m0 0x100000+64", "11 watch t0 w1 m0 0x100040+64",
                          "20 touch t0 w0 m0 0x100000+64", "20 sleep t0", "50 touch w1 m0 0x100040+64"}));
}

TEST(Watches, WhatAKilledThreadDidIsNotSeen) {
  Facts facts;
  facts.watch(1, kHost, 64, 10)
      .watch(2, kHost + 64, 64, 20)
      .on(1)
      .touch(2, 15)
      .on(0)
      .drop(Drop::records_full);
  auto lines = all_events(facts).lines;
  EXPECT_EQ(lines.back(), "20 unwatched t0 m0 0x100040+64 blind=0x1000");
  EXPECT_EQ(lines[1], "15 unwatch w0 m0 0x100000+64 lost");
}

TEST(Order, LocksStartsAndForcedAcquires) {
  Facts facts;
  facts.order(OrderObject::mutex, kLock, 10, 0).order(OrderObject::thread_start, 1, 20, kForced);
  facts.on(1).order(OrderObject::thread_start, 1, 25, kAcquires | kForced);
  facts.order(OrderObject::mutex, kLock, 30, kAcquires).order(OrderObject::thread_end, 1, 40, kForced);
  facts.on(0).order(OrderObject::thread_end, 1, 60, kAcquires | kForced | kBlocked, 0);
  EXPECT_EQ(events(facts),
            (Lines{"10 release t0 o0", "20 release t0 o1", "25 acquire t1 o1 forced", "30 acquire t1 o0",
                   "40 release t1 o2", "40 thread_ends t1", "60 acquire t0 o2 forced"}));
}

// It had nothing to record when it ended; who joins it knows.
TEST(Order, WhoJoinsAThreadSaysThatItEnded) {
  Facts facts;
  facts.order(OrderObject::thread_start, 7, 20, kForced);
  facts.on(1).order(OrderObject::thread_start, 7, 25, kAcquires | kForced);
  facts.on(0).order(OrderObject::thread_end, 7, 60, kAcquires | kForced, 0);
  EXPECT_EQ(events(facts), (Lines{"20 release t0 o0", "25 acquire t1 o0 forced", "60 thread_ends t1",
                                  "60 acquire t0 o1 forced"}));
}

TEST(Order, AtTheSameTimeTheReleaseComesFirst) {
  Facts facts;
  facts.order(OrderObject::mutex, kLock, 10, kAcquires).on(1).order(OrderObject::mutex, kLock, 10, 0);
  EXPECT_EQ(events(facts), (Lines{"10 release t0 o0", "10 acquire t1 o0"}));
}

// Blocked for 20 us: from then on it touches nothing.
TEST(Order, AThreadSleepsBeforeItAcquires) {
  Facts facts;
  facts.order(OrderObject::semaphore, kLock, 25'000, kAcquires | kBlocked, 20);
  facts.on(1).order(OrderObject::mutex, 0x6000, 10'000, 0);
  EXPECT_EQ(events(facts), (Lines{"5000 sleep t0", "10000 release t1 o0", "25000 acquire t0 o1"}));
}

// It takes the lock at 20, and guards go up and down behind that. The thread goes on when they are up; what
// could not be watched is open to it only then.
TEST(Order, AtAnAcquireGuardsAreUpBeforeTheThreadGoesOn) {
  Facts facts;
  facts.watch(1, kHost + 128, 64, 5).order(OrderObject::mutex, kLock, 20, kAcquires);
  facts.watch(0, kHost, 8, 22, WatchRefusal::small).unwatch(1, 23).watch(2, kHost + 64, 64, 24);
  EXPECT_EQ(events(facts), (Lines{"5 watch t0 w0 m0 0x100080+64", "23 unwatch t0 w0 m0 0x100080+64",
                                  "24 watch t0 w1 m0 0x100040+64", "24 acquire t0 o0",
                                  "24 unwatched t0 m0 0x100000+8 blind=0x40"}));
}

// A release is no acquire: the records stay in their order.
TEST(Order, AtAReleaseRecordsStayInOrder) {
  Facts facts;
  facts.order(OrderObject::mutex, kLock, 20, 0).watch(1, kHost, 64, 24);
  EXPECT_EQ(events(facts), (Lines{"20 release t0 o0", "24 watch t0 w0 m0 0x100000+64"}));
}

TEST(Order, ASemaphoreWithOneSenderForces) {
  Facts one, two, missed;
  for (Facts* facts : {&one, &two, &missed}) {
    facts->order(OrderObject::semaphore, kLock, 20, kAcquires);
    facts->on(1).order(OrderObject::semaphore, kLock, 10, 0);
  }
  two.on(2).order(OrderObject::semaphore, kLock, 30, 0);
  missed.on(2).order(OrderObject::semaphore, kLock, 30, kAcquires | kNotSeen);
  EXPECT_EQ(events(one)[1], "20 acquire t1 o0 forced");
  EXPECT_EQ(events(two)[1], "20 acquire t1 o0");
  EXPECT_EQ(events(missed)[1], "20 acquire t1 o0");
}

TEST(Interpret, AProcessThatWasKilledHasNoEnd) {
  Facts facts;
  facts.call("cuCtxSynchronize", {.begin = 10}).ends(ProcessEnd::running);
  EXPECT_EQ(all_events(facts).lines.back(), "20 end t0");
}

TEST(Interpret, ReplaysAreTheSame) {
  Facts facts;
  facts.watch(1, kHost, 64, 10).call("cuCtxSynchronize", {.begin = 10}).touch(1, 30);
  TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_run(folder.path(), sites, Load::operations);
  Interpretation interpretation(run->processes.at(0));
  TextSink first, second;
  interpretation.replay(first);
  interpretation.replay(second);
  EXPECT_EQ(first.lines, second.lines);
  EXPECT_EQ(first.lines.size(), 6u);
}

}  // namespace
}  // namespace diogenes::necessity
