// Which releases and acquires are recorded: threads that take turns in one real thread, so that every case is
// the same in each run.
#include "agent/watching/order/order.h"
#include "agent/watching/order/hand_overs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "agent/watching/order/order_records.h"
#include "agent/watching/order/thread.h"

namespace diogenes::agent {

// What the agent gives.
thread_local constinit ThreadState thread_state;
thread_local constinit GuardThread guard_thread;
PassThrough::PassThrough() { ++thread_state.pass; }
PassThrough::~PassThrough() { --thread_state.pass; }
bool in_driver_code(uintptr_t) { return false; }
bool in_driver_now() { return false; }
bool stage_uses_guards() { return true; }
void enter_undispatched(Slot&) {}
void leave_undispatched(Slot&) {}

namespace {

ProcessFile the_process;
uint32_t generation = 1;
uint32_t files = 0, drops = 0, raised = 0;
std::vector<OrderRecord> written;
thread_local uint32_t this_file = 0xffffffff;

}  // namespace

ProcessFile* process_file() { return &the_process; }
uint32_t folder_generation() { return generation; }
void count_drop(Drop cause) { drops += cause == Drop::orders_full; }
bool next_operation(OperationId& id) {
  if (thread_state.file_generation != generation) {
    thread_state.file_generation = generation;
    thread_state.news = 0;
    this_file = files++;
  }
  id.thread = static_cast<uint16_t>(this_file);
  return true;
}
bool append_record(const void* appended, OperationId*) {
  const auto& record = *static_cast<const OrderRecord*>(appended);
  written.push_back(record);
  return true;
}
void after_acquire() { ++raised; }
uint32_t own_thread_file() { return 0xffffffff; }
void leave_thread_file() {}

namespace {

// A thread of the program, while it is not its turn.
class Actor {
 public:
  void act(const std::function<void()>& what) {
    swap();
    what();
    swap();
  }
  void call_driver() {
    act([] {
      OperationId id;
      next_operation(id);
      ++thread_state.news;
    });
  }
  void lock(const void* mutex) {
    act([=] { after_lock(OrderObject::mutex, mutex, 0, {}); });
  }
  void unlock(const void* mutex) {
    act([=] { before_unlock(OrderObject::mutex, mutex, 0); });
  }
  void lock_asleep(const void* mutex) {
    act([=] { after_lock(OrderObject::mutex, mutex, 0, {5'000'000}); });
  }
  void turn(const void* mutex) { lock(mutex), unlock(mutex); }
  void post(const void* semaphore) {
    act([=] { before_post(semaphore); });
  }
  void wait(const void* semaphore) {
    act([=] { after_semaphore_wait(semaphore, {5'000'000}); });
  }
  uint32_t arrive(const void* barrier) {
    uint32_t round = 0;
    act([&] { round = before_barrier(barrier); });
    return round;
  }
  void leave(const void* barrier, uint32_t round) {
    act([=] { after_barrier(barrier, round, {}); });
  }

 private:
  void swap() {
    std::swap(order_, order_thread);
    std::swap(state_, thread_state);
    std::swap(file_, this_file);
  }
  OrderThread order_;
  ThreadState state_;
  uint32_t file_ = 0xffffffff;
};

class Order : public testing::Test {
 protected:
  Order() {
    ++generation;  // an empty table
    files = drops = raised = 0;
    written.clear();
  }

  // "release 1 by 0" or "acquire 1 of 0", with flags, for each record since the last time.
  std::vector<std::string> news() {
    std::vector<std::string> result;
    for (const OrderRecord& record : written) {
      std::string text = record.flags & kAcquires ? "acquire " : "release ";
      text += std::to_string(record.sequence) + (record.flags & kAcquires ? " of " : " by ");
      text += record.thread == 0xffffffff ? "?" : std::to_string(record.thread);
      if (record.flags & kForced) text += " forced";
      if (record.flags & kNotSeen) text += " not seen";
      result.push_back(text);
    }
    written.clear();
    return result;
  }
  using Texts = std::vector<std::string>;

  Actor a, b, c;
  int one = 0, two = 0, three = 0;  // objects: only their addresses matter
};

// Stage 2: for the schedule of threads.
class Times : public Order {
 protected:
  Times() { order_is_for_times = true; }
  ~Times() override { order_is_for_times = false; }
};

TEST_F(Times, WhatOneThreadAloneUsesIsNotRecorded) {
  a.call_driver();
  for (int i = 0; i < 3; ++i) a.turn(&one), a.post(&two), a.wait(&two);
  EXPECT_EQ(news(), Texts());
}

TEST_F(Times, AnAcquireNamesWhoReleasedLastAndWhen) {
  a.call_driver(), b.call_driver();
  a.turn(&one);
  b.turn(&one);  // when the first one released it was not noted: it was alone
  EXPECT_EQ(news(), Texts());
  a.lock(&one);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].flags & (kAcquires | kNamesRelease | kBlocked), kAcquires | kNamesRelease);
  EXPECT_GT(written[0].address, 0u);
  EXPECT_LE(static_cast<int64_t>(written[0].address), written[0].at_ns);
  EXPECT_EQ(news(), (Texts{"acquire 0 of 1"}));
}

TEST_F(Times, OfManyReleasesInARowTheLastOneCounts) {
  a.call_driver(), b.call_driver();
  for (int i = 0; i < 2; ++i) a.post(&one), b.wait(&one);
  a.post(&one);
  const int64_t before = monotonic_now().count;
  a.post(&one);
  b.wait(&one);
  ASSERT_EQ(written.size(), 2u);
  EXPECT_GE(static_cast<int64_t>(written[1].address), before);
}

// A thread that makes items sets the pace, whether it calls the driver or not.
TEST_F(Times, EverySleepIsRecordedWithoutNews) {
  a.call_driver(), b.call_driver();
  a.post(&one), b.wait(&one);
  for (int i = 0; i < 3; ++i) a.post(&one), b.wait(&one);
  ASSERT_EQ(written.size(), 3u);
  for (const OrderRecord& record : written) EXPECT_EQ(record.blocked_us, 5'000u);
  EXPECT_EQ(news(), (Texts{"acquire 0 of 0", "acquire 0 of 0", "acquire 0 of 0"}));
}

TEST_F(Times, OfAThreadWithoutAFileOnlyTheTimeIsKnown) {
  a.call_driver();
  for (int i = 0; i < 2; ++i) c.post(&one), a.wait(&one);
  EXPECT_EQ(news(), (Texts{"acquire 0 of ?"}));
  for (int i = 0; i < 3; ++i) c.post(&two), b.wait(&two);  // neither calls the driver
  EXPECT_EQ(news(), Texts());
  EXPECT_EQ(files, 1u);
}

TEST_F(Times, BarriersAreRecordedInEachRound) {
  a.call_driver(), b.call_driver();
  a.act([&] { note_barrier(&one, 2, false); });
  for (uint32_t round = 1; round <= 2; ++round) {
    EXPECT_EQ(a.arrive(&one), round);
    EXPECT_EQ(b.arrive(&one), round);
    a.leave(&one, round), b.leave(&one, round);
    const std::string first = std::to_string(2 * round - 1), last = std::to_string(2 * round);
    EXPECT_EQ(news(), (Texts{"release " + first + " by 0 forced", "release " + last + " by 1 forced",
                             "acquire " + last + " of 1 forced", "acquire " + last + " of 1 forced"}));
  }
}

TEST_F(Order, WithoutNewsNothingIsRecorded) {
  for (int i = 0; i < 3; ++i) a.turn(&one), b.turn(&one);
  a.post(&two), b.wait(&two);
  EXPECT_EQ(news(), Texts());
  EXPECT_EQ(files, 0u);
}

// The next lock that it gives back is enough.
TEST_F(Order, WhoHasMoreToTellSaysSoOnce) {
  a.call_driver();
  a.turn(&one);
  EXPECT_EQ(news(), (Texts{"release 1 by 0"}));
  a.turn(&one), a.turn(&two), b.turn(&one);
  EXPECT_EQ(news(), Texts());
  a.call_driver();
  a.turn(&two);
  EXPECT_EQ(news(), (Texts{"release 1 by 0"}));
  EXPECT_EQ(raised, 0u);
}

TEST_F(Order, WhoSleptUntilItHadALockIsRecorded) {
  a.call_driver(), b.call_driver();
  a.unlock(&one);
  b.lock_asleep(&one);
  EXPECT_EQ(news(), (Texts{"release 1 by 0", "acquire 1 of 0"}));
  c.lock_asleep(&one);  // it has nothing to tell, and no file
  EXPECT_EQ(news(), Texts());
  EXPECT_EQ(raised, 2u);
  EXPECT_EQ(files, 2u);
}

TEST_F(Order, NewsTravelsThroughOthers) {
  a.call_driver();
  a.post(&one);
  b.wait(&one);
  b.post(&two);
  c.wait(&two);
  EXPECT_EQ(news(), (Texts{"release 1 by 0", "acquire 1 of 0", "release 1 by 1", "acquire 1 of 1"}));
  a.post(&one);  // it has told that
  EXPECT_EQ(news(), Texts());
}

// A wait is known before it is made: it is recorded when the thread does something else.
TEST_F(Order, AFutexWaitIsRecordedBeforeTheThreadsNextRelease) {
  order_wanted = true;
  a.call_driver();
  b.act([&] { order_by_futex(1000, 128, 0); });  // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
  a.act([&] { order_by_futex(1000, 129, 0); });  // FUTEX_WAKE
  EXPECT_EQ(news(), (Texts{"release 1 by 0"}));
  b.unlock(&one);
  order_wanted = false;
  EXPECT_EQ(news(), (Texts{"acquire 1 of 0", "release 1 by 1"}));
}

TEST_F(Order, AWaitFollowsThePostOfItsNumber) {
  a.act([&] { note_semaphore(&one, 1, true, false); });
  a.call_driver();
  a.post(&one);
  a.call_driver();
  a.post(&one);
  a.post(&one);  // tells nothing new, and counts
  a.call_driver();
  a.post(&one);
  EXPECT_EQ(news(), (Texts{"release 1 by 0", "release 2 by 0", "release 4 by 0"}));
  for (int i = 0; i < 5; ++i) b.wait(&one);
  // The first took the token that was there.
  EXPECT_EQ(news(), (Texts{"acquire 1 of ?", "acquire 2 of ?", "acquire 3 of ?", "acquire 4 of 0"}));
  EXPECT_EQ(written.size(), 0u);
}

TEST_F(Order, ASecondSenderWithoutNewsEndsCertainty) {
  a.call_driver();
  a.post(&one);
  b.wait(&one);
  c.post(&one);
  EXPECT_EQ(news(), (Texts{"release 1 by 0", "acquire 1 of 0", "release 2 by 2 not seen"}));
}

TEST_F(Order, AFirstSenderWithoutNewsEndsCertainty) {
  a.call_driver();
  c.post(&one);
  a.post(&one);
  EXPECT_EQ(news(), (Texts{"release 2 by 0 not seen"}));
}

TEST_F(Order, APostThatIsNotFollowedEndsCertainty) {
  a.call_driver();
  a.post(&one);
  start_order();
  c.act([&] { note_unfollowed(OrderObject::semaphore, &one, nullptr); });
  order_wanted = false;
  b.wait(&one);
  EXPECT_EQ(news(), (Texts{"release 1 by 0", "acquire 1 of 0 not seen"}));
}

TEST_F(Order, AConditionsWaitFollowsTheFirstSignalAfterItBegan) {
  a.call_driver();
  a.act([&] { before_signal(&one); });
  uint32_t before = 0;
  b.act([&] { before = begin_condition_wait(&one); });
  EXPECT_EQ(before, 1u);
  a.call_driver();
  a.act([&] { before_signal(&one); });
  a.call_driver();
  a.act([&] { before_signal(&one); });
  b.act([&] { after_condition_wait(&one, before, {5'000'000}); });
  EXPECT_EQ(news(), (Texts{"release 1 by 0", "release 2 by 0", "release 3 by 0", "acquire 2 of ?"}));
}

TEST_F(Order, AWaitThatNobodySignalledFollowsNothing) {
  a.call_driver();
  a.act([&] { before_signal(&one); });
  b.act([&] { after_condition_wait(&one, begin_condition_wait(&one), {}); });
  EXPECT_EQ(news(), (Texts{"release 1 by 0"}));
}

TEST_F(Order, ABarrierIsLeftBecauseAllCame) {
  a.act([&] { note_barrier(&one, 2, false); });
  for (uint32_t round = 1; round <= 2; ++round) {
    a.call_driver();
    EXPECT_EQ(a.arrive(&one), round);
    EXPECT_EQ(b.arrive(&one), round);
    a.leave(&one, round);
    b.leave(&one, round);
  }
  EXPECT_EQ(news(), (Texts{"release 1 by 0 forced", "acquire 2 of 0 forced", "release 3 by 0 forced",
                           "acquire 4 of 0 forced"}));
  for (uint32_t round = 3; round <= 10; ++round) {
    a.arrive(&one), b.arrive(&one);
    a.leave(&one, round), b.leave(&one, round);
  }
  EXPECT_EQ(news(), Texts());
}

// Each turn lets the other one go on, and neither does anything else.
TEST_F(Order, WhatIsHandedToAndFroWithoutEndOrdersNothingInTheEnd) {
  a.call_driver();
  for (int turn = 0; turn < 100'000; ++turn) a.post(&one), b.wait(&one), b.post(&two), a.wait(&two);
  const std::vector<std::string> all = news();
  EXPECT_GE(all.size(), 2u * 65'536);
  EXPECT_LT(all.size(), 3u * 65'536);
  EXPECT_GE(std::count_if(all.begin(), all.end(),
                          [](const std::string& text) { return text.find("not seen") != std::string::npos; }),
            2);
  EXPECT_GE(drops, 2u);
  a.call_driver();
  a.post(&one);
  EXPECT_EQ(news(), (Texts{"release 100001 by 0 not seen"}));
}

TEST_F(Order, ABarrierOfMoreThreadsThanItCountsIsNotCertain) {
  a.act([&] { note_barrier(&one, 2, false); });
  a.call_driver(), c.call_driver();
  a.arrive(&one);
  b.arrive(&one);
  c.arrive(&one);  // before anybody left: it may have been the second
  EXPECT_EQ(news(), (Texts{"release 1 by 0 forced", "release 3 by 1 not seen"}));
  b.leave(&one, 1);
  EXPECT_EQ(news(), Texts());
}

TEST_F(Order, AThreadKnowsWhatItsMakerKnew) {
  a.call_driver();
  ThreadStart start;
  a.act([&] {
    before_thread_start(start);
    note_thread_handle(77, start.number, false);
  });
  b.act([&] { begin_ordered_thread(start); });
  EXPECT_EQ(news(), (Texts{"release 1 by 0 forced", "acquire 1 of 0 forced"}));
  a.unlock(&one);
  b.lock(&one);
  EXPECT_EQ(news(), (Texts{"release 1 by 0"}));
  b.call_driver();
  b.act([] { end_ordered_thread(); });
  uint32_t number = 0;
  a.act([&] {
    number = number_of_thread(77);
    after_join(77, number, {});
  });
  EXPECT_EQ(number, start.number);
  EXPECT_EQ(news(), (Texts{"release 1 by 1 forced", "acquire 1 of 1 forced"}));
  EXPECT_EQ(number_of_thread(77), 0u);
}

// So many threads that a file for each would cost too much.
TEST_F(Order, OneOfManyThreadsHasNoFileUntilItHasNews) {
  the_process.threads = 1000;
  a.call_driver();
  ThreadStart first, second;
  a.act([&] { before_thread_start(first), note_thread_handle(77, first.number, false); });
  b.act([&] { begin_ordered_thread(first), end_ordered_thread(); });
  EXPECT_EQ(news(), (Texts{"release 1 by 0 forced"}));
  a.act([&] { after_join(77, number_of_thread(77), {}); });
  EXPECT_EQ(news(), (Texts{"acquire 0 of ? forced"}));
  a.act([&] { before_thread_start(second); });
  c.act([&] { begin_ordered_thread(second); });
  EXPECT_EQ(news(), (Texts{"release 1 by 0 forced"}));
  c.call_driver();
  c.unlock(&one);
  EXPECT_EQ(news(), (Texts{"acquire 1 of 0 forced", "release 1 by 1"}));
  the_process.threads = 0;
}

TEST_F(Order, AForkedChildBeginsAnew) {
  a.call_driver();
  a.turn(&one);
  ++generation;
  a.turn(&one);
  EXPECT_EQ(news(), (Texts{"release 1 by 0"}));
  a.call_driver();
  a.unlock(&one);
  b.lock(&one);
  EXPECT_EQ(news(), (Texts{"release 2 by 1"}));
}

TEST_F(Order, ManyObjectsAreFollowedAndTooManyAreCounted) {
  a.call_driver();
  std::vector<char> few(4000 * 40);
  for (size_t i = 0; i < 4000; ++i) a.post(&few[i * 40]);
  EXPECT_LE(drops, 4u);
  EXPECT_EQ(news().size(), 4000u);
  std::vector<char> many(100'000 * 40);
  for (size_t i = 0; i < 100'000; ++i) a.post(&many[i * 40]);
  EXPECT_GT(drops, 80'000u);
  EXPECT_EQ(news().back(), "release 1 by 0 not seen");
}

}  // namespace
}  // namespace diogenes::agent
