// Each rule of a window, with a trace that is judged wrongly without it. A window begins at 100 ns and ends at 200 ns.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/necessity/testing/exhaustive_oracle.h"
#include "analysis/necessity/testing/literal_timeline.h"
#include "analysis/necessity/windows/judge_windows.h"

namespace diogenes::necessity::testing {
namespace {

constexpr WindowSpan kWindow{100, 200};

std::vector<bool> needless(const Timeline& t, const WindowRules& rules = {}) {
  return judge_windows([&t](EventSink& sink) { t.replay(sink); }, {&kWindow, 1}, rules).needless;
}

// The wait is needed, and called needless without the rule; then the whole trace breaks.
void expect_needed(const Timeline& t, size_t wait, bool WindowRules::*rule) {
  const Oracle oracle(t.events());
  const size_t waits = oracle.synchronizations().size();
  std::vector<bool> found = needless(t);
  found.resize(waits);
  EXPECT_FALSE(found[wait]) << t.text();
  EXPECT_EQ(oracle.broken_without(found), "") << t.text();
  WindowRules without;
  without.*rule = false;
  found = needless(t, without);
  found.resize(waits);
  EXPECT_TRUE(found[wait]) << t.text();
  EXPECT_NE(oracle.broken_without(found), "") << t.text();
}

Event wait_for_own_work(ThreadNumber thread, uint32_t site) {
  Event own;
  own.kind = EventKind::covers;
  own.thread = thread;
  own.site = SiteIndex{site};
  own.covers_own_work = true;
  return own;
}

// A's copy to m0 was given before the window, and A touches it behind S1.
TEST(WindowRules, StreamsHaveAPast) {
  Timeline t;
  t.work(A, s0, {host_write(m0)});
  t.at(100).begin(A).sync(A, {s0}, 0).watch(0, m0).end(A).touch(A, 0).ends();
  expect_needed(t, 0, &WindowRules::unknown_work);
}

// B's call began before the window, and gives its copy behind A's first wait.
TEST(WindowRules, ACallThatWasUnderWayMayGiveWork) {
  Timeline t;
  t.begin(B).at(100).sync(A, {s0}, 0).work(B, s0, {host_write(m0)}).end(B);
  t.begin(A).sync(A, {s0}, 1).watch(0, m0).end(A).touch(A, 0).ends();
  expect_needed(t, 1, &WindowRules::calls_under_way);
}

// B's call records the event once more, out of sight: S0 does not wait for the copy, S1 does.
TEST(WindowRules, ACallThatWasUnderWayMayRecordAnEvent) {
  Timeline t;
  t.begin(B).at(100).sync(A, {s0, s1}, 9).work(A, s0, {host_write(m0)}).record(A, s0, MarkNumber{0});
  t.record(B, s1, MarkNumber{0}).end(B).begin(A).sync_mark(A, MarkNumber{0}, 0).watch(0, m0).end(A);
  t.sync(A, {s0}, 1, {.implicit = true}).touch(A, 0).ends();
  expect_needed(t, 2, &WindowRules::calls_under_way);
}

// B waits for its own copy. A's call gave nothing in between, so S1 covers the copy for certain, and S0 may do so. But what A's
// call gave is not shown.
TEST(WindowRules, ACallThatWasUnderWayMayComeBetween) {
  Timeline t;
  t.begin(A)
      .at(100)
      .begin(B)
      .end(A)
      .sync(A, {s0, s1}, 9)
      .work(B, s0, {host_write(m0)})
      .may_sync_everything(B, 0);
  t.add(wait_for_own_work(B, 1)).end(B).ends();
  EXPECT_NE(Oracle(t.events()).broken_without({false, false, true}), "");
  std::vector<bool> found = needless(t);
  found.resize(3);
  EXPECT_FALSE(found[2]);
}

// The same where unseen work comes between, as A makes the stream wait for an event of which the window shows no record. C's wait
// shows that it does not wait for the CPU.
TEST(WindowRules, WhatAnEventStandsForMayComeBetween) {
  Timeline t;
  t.record(A, s1, MarkNumber{0}).at(100).sync(A, {s0, s1}, 9).begin(B).wait(A, s0, MarkNumber{0});
  t.work(B, s0, {host_write(m0)}).sync(C, {s0}, 8).may_sync_everything(B, 0).add(wait_for_own_work(B, 1));
  t.end(B).ends();
  EXPECT_NE(Oracle(t.events()).broken_without({false, false, false, true}), "");
  std::vector<bool> found = needless(t);
  found.resize(4);
  EXPECT_FALSE(found[3]);
}

// Work in s0 waits for B, out of sight, and B goes on behind S_B. So behind S1 A knows of the copy in s1. S0 came too early.
TEST(WindowRules, WhatNobodySawMayWaitForTheCpu) {
  Timeline t;
  t.sleep(B).gate(A, s0).at(100).sync(A, {s1}, 9).may_sync(A, {s0}, 0).work(A, s1, {host_write(m0)});
  t.begin(B).sync(B, {s1}, 8).watch(0, m0).end(B).may_sync(A, {s0}, 1).touch(A, 0).ends();
  expect_needed(t, 3, &WindowRules::may_wait);
}

// A waited for the copy before the window. B learns of that by A's work in s1, and by S1 alone: S0 came before that work.
TEST(WindowRules, ThreadsHaveAPast) {
  Timeline t;
  t.sleep(B).work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 9).watch(0, m0).end(A);
  t.at(100).sync(B, {s1}, 0).work(A, s1, {device_write(m1)}).sync(A, {s0}, 9);
  t.sync(B, {s1}, 1).touch(B, 0).ends();
  expect_needed(t, 3, &WindowRules::known_to_threads);
}

// What the CUDA event stands for was given before the window.
TEST(WindowRules, EventsHaveAPast) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).record(A, s0, MarkNumber{0});
  t.at(100).begin(A).sync_mark(A, MarkNumber{0}, 0).watch(0, m0).end(A).touch(A, 0).ends();
  expect_needed(t, 0, &WindowRules::known_to_marks);
}

// C starts in the window and knows what A knew when A let it go: so does its work in s1, and who waits for that.
TEST(WindowRules, ObjectsHaveAPast) {
  Timeline t;
  t.sleep(B).work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 9).watch(0, m0).end(A).release(A, 0);
  t.at(100).sync(B, {s1}, 0).acquire(C, 0, true).work(C, s1, {device_write(m1)});
  t.sync(A, {s0}, 9).sync(B, {s1}, 1).touch(B, 0).ends();
  expect_needed(t, 3, &WindowRules::known_to_objects);
}

// A was told 'not ready' before the window, so it knows of the copy when the query succeeds. B learns of it as above. A's work
// before S0 hands on what A knew before.
TEST(WindowRules, QueriesHaveAPast) {
  Timeline t;
  t.sleep(B).work(A, s0, {host_write(m0)}).query(A, s0, false);
  t.at(100).work(A, s1, {device_write(m1)}).begin(B).sync(B, {s1}, 0).watch(0, m0).end(B);
  t.query(A, s0, true).work(A, s1, {device_write(m1)}).sync(A, {s0}, 9).sync(B, {s1}, 1).touch(B, 0).ends();
  expect_needed(t, 2, &WindowRules::asked_before);
}

// B is awake and may read what A has touched; it may know of it by a flag that nobody sees. No recorded order could break.
TEST(WindowRules, ThreadsAreThereBeforeTheWindowShowsThem) {
  Timeline t;
  t.sync(B, {s0}, 9).at(100).sync(A, {s0}, 8).work(A, s0, {host_write(m0)});
  t.begin(A).sync(A, {s0}, 0).watch(0, m0).end(A).sync(A, {s0}, 1).touch(A, 0).ends();
  EXPECT_FALSE(needless(t)[2]);
  EXPECT_TRUE(needless(t, {.known_to_threads = false})[2]);
}

// Hands on each acquire as if the senders that the window shows were all.
class GuessSenders : public EventSink {
 public:
  explicit GuessSenders(EventSink& to) : to_(to) {}
  void take(const Event& event) override {
    Event guessed = event;
    if (event.kind == EventKind::release) senders_[event.object.value].insert(event.thread.value);
    if (event.kind == EventKind::acquire) guessed.forced = senders_[event.object.value].size() == 1;
    to_.take(guessed);
  }

 private:
  EventSink& to_;
  std::map<uint32_t, std::set<uint32_t>> senders_;
};

// C signals the object, too, but not in the window. So B may go on without A's signal, and S_B is what orders its touch. S_A
// is needed anyway, for the kernel in s1.
TEST(WindowRules, OneSenderInAWindowIsNoOrderOfEachRun) {
  Timeline t;
  t.release(C, 0).thread_ends(C).sync(B, {s0}, 8);
  t.at(100).sync(A, {s0, s1}, 9).work(A, s1, {device_write(m1)}).sync(B, {s0, s1}, 8);
  t.work(A, s0, {host_write(m0)})
      .begin(A)
      .sync(A, {s0}, 0)
      .watch(0, m0)
      .end(A)
      .work(A, s1, {host_read(m0)})
      .release(A, 0);
  Event acquire;
  acquire.kind = EventKind::acquire;
  acquire.thread = B;
  acquire.object = ObjectNumber{0};
  acquire.sequence = 2;
  acquire.one_sender = true;
  t.add(acquire).sync(B, {s0}, 1).touch(B, 0).ends();
  constexpr size_t kOfB = 4;
  EXPECT_FALSE(needless(t)[kOfB]);
  const Replay guessed = [&t](EventSink& sink) {
    GuessSenders guess(sink);
    t.replay(guess);
  };
  // The guess is made of what comes in the window.
  const Replay in_window = [&t](EventSink& sink) {
    GuessSenders guess(sink);
    for (const Event& event : t.events())
      if (event.at_ns >= kWindow.begin_ns || event.kind != EventKind::release) guess.take(event);
  };
  std::vector<bool> found = judge_windows(in_window, {&kWindow, 1}, {.one_sender = false}).needless;
  const Oracle oracle(t.events());
  found.resize(oracle.synchronizations().size());
  EXPECT_TRUE(found[kOfB]);
  EXPECT_NE(oracle.broken_without(found), "");
  EXPECT_FALSE(judge_windows(guessed, {&kWindow, 1}, {.one_sender = false}).needless[kOfB]);
}

// A waits in s1 for an event that was recorded before the window: so S1 waits for the copy, too. S0 came before that.
TEST(WindowRules, AStreamMayWaitForAnEventOfThePast) {
  Timeline t;
  t.work(A, s0, {host_write(m0)}).record(A, s0, MarkNumber{0});
  t.at(100).sync(A, {s1}, 0).wait(A, s1, MarkNumber{0}).begin(A).sync(A, {s1}, 1).watch(0, m0).end(A);
  t.touch(A, 0).ends();
  expect_needed(t, 1, &WindowRules::known_to_marks);
}

// Work in s1 from before the window lets A's kernel in s0 go, so behind A's second wait A knows of the copy, and C behind S1.
TEST(WindowRules, WhatNobodySawMayLetWorkGo) {
  Timeline t;
  t.work(A, s1, {host_write(m0), device_write(m1)}).at(100).sync(A, {s0, s2}, 9);
  t.gate(A, s0, {device_read(m1)})
      .work(A, s2, {})
      .sync(C, {s2}, 9)
      .begin(A)
      .sync(A, {s0}, 9)
      .watch(0, m0)
      .end(A);
  t.work(A, s2, {}).sync(A, {s1}, 9).sync(C, {s2}, 1).touch(C, 0).ends();
  EXPECT_NE(Oracle(t.events()).broken_without({false, false, false, false, true}), "");
  std::vector<bool> found = needless(t);
  found.resize(5);
  EXPECT_FALSE(found[4]);
}

// Work in s0 waits for B as above, and A hands on what it learned by its work in s2: C knows of the copy behind S2.
TEST(WindowRules, WhatAWaitMayHaveLearnedIsHandedOn) {
  Timeline t;
  t.sleep(B).sleep(C).gate(A, s0).at(100).sync(A, {s1, s2}, 9).may_sync(A, {s0}, 0);
  t.work(A, s2, {device_write(m1)}).sync(C, {s2}, 9);
  t.work(A, s1, {host_write(m0)}).begin(B).sync(B, {s1}, 8).watch(0, m0).end(B).may_sync(A, {s0}, 1);
  t.work(A, s2, {device_write(m1)}).sync(A, {s0}, 9).sync(C, {s2}, 2).touch(C, 0).ends();
  expect_needed(t, 6, &WindowRules::may_wait);
}

// In each run B goes on behind A's release, but the window cannot know that. Then S1 is what orders the touch for certain,
// although S0 may do so before it. The second time, B knows of the copy already, by chance.
Timeline one_sender(bool known_before) {
  Timeline t;
  t.sleep(B).at(100).sync(A, {s0, s1}, 9).work(A, s0, {host_write(m0)});
  t.begin(A).may_sync(A, {s0}, 0).watch(0, m0).end(A);
  if (known_before) t.release(A, 1).acquire(B, 1, false).touch(B, 0).watch(1, m0);
  t.sync(A, {s0}, 1).release(A, 0);
  Event acquire;
  acquire.kind = EventKind::acquire;
  acquire.thread = B;
  acquire.object = ObjectNumber{0};
  acquire.sequence = 1;
  acquire.forced = acquire.one_sender = true;
  t.sleep(A).add(acquire).touch(B, known_before ? 1 : 0).ends();
  return t;
}

TEST(WindowRules, OneSenderInEachRunIsKept) {
  for (const bool known_before : {false, true}) {
    const Timeline t = one_sender(known_before);
    const Oracle oracle(t.events());
    EXPECT_NE(oracle.broken_without({false, false, true}), "");
    std::vector<bool> found = needless(t);
    found.resize(3);
    EXPECT_FALSE(found[2]);
    EXPECT_EQ(oracle.broken_without(found), "");
  }
}

}  // namespace
}  // namespace diogenes::necessity::testing
