// How long a touch waits until other threads rest. The clock is the test's own: it moves on by 10 us each
// time that it is read, so nothing here depends on how busy the machine is.
#include "agent/watching/guard/faults/bystanders.h"

#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <functional>
#include <thread>

#include "agent/watching/guard/testing/child.h"
#include "agent/watching/guard/threads/threads.h"

namespace {

std::atomic<int64_t> tick{500'000};                        // ns
std::atomic<int64_t> fake_now{0};                          // ns; 0: the machine's own clock
thread_local int64_t readings = 0;                         // of the fake clock, by this thread
thread_local const std::function<void()>* look = nullptr;  // at each of them

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (fake_now == 0) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const int64_t now = fake_now += tick;
  ++readings;
  if (look) (*look)();
  *time = {now / 1'000'000'000, now % 1'000'000'000};
  return 0;
}

namespace diogenes::agent {
namespace {

constexpr int64_t kUs = 1000, kMs = 1'000'000;

// How long the calling thread waits, on the fake clock; `then` runs at each of its readings.
int64_t waited(const std::function<void()>& then = [] {}) {
  const int64_t begin = fake_now;
  look = &then;
  await_bystanders();
  look = nullptr;
  return fake_now - begin;
}

// Without the guards' knowledge: to them, the thread computes.
void nap() {
  const timespec time{0, 200'000};
  raw_syscall(SYS_nanosleep, &time, nullptr);
}

// A thread of the program that computes until the test ends, or until it is told to wait as well.
class Other {
 public:
  Other()
      : thread_([this] {
          slot_ = guard_thread.slot;
          while (!end_) {
            if (touches_.exchange(false)) {
              await_bystanders();
              readings_ = readings;
            }
            nap();
          }
        }) {
    while (!slot_) nap();
  }
  ~Other() {
    end_ = true;
    thread_.join();
  }
  Slot& slot() { return *slot_; }
  // It touches something, too. How often it has read the clock until it goes on.
  int64_t touches() {
    readings_ = -1;
    touches_ = true;
    while (readings_ < 0) nap();
    return readings_;
  }

 private:
  std::atomic<Slot*> slot_{nullptr};
  std::atomic<bool> end_{false}, touches_{false};
  std::atomic<int64_t> readings_{-1};
  std::thread thread_;
};

// With the clock of the test.
template <typename Body>
auto with_fake_clock(Body body) {
  return [body] {
    CHECK(start_guards());
    fake_now = 1'000'000'000;
    body();
    fake_now = 0;
  };
}

TEST(Bystanders, ATouchGoesOnAtOnceWhereNobodyElseIs) {
  EXPECT_EQ(ending_of(status_of(with_fake_clock([] { CHECK(waited() == 0); }))), "exit 0");
}

TEST(Bystanders, ATouchGoesOnAtOnceWhereTheOthersRest) {
  EXPECT_EQ(ending_of(status_of(with_fake_clock([] {
              Other sleeper, in_driver;
              sleeper.slot().asleep = 1;
              in_driver.slot().depth = 1;
              CHECK(waited() == 0);
              in_driver.slot().depth = 0;
              CHECK(waited() > 0);
            }))),
            "exit 0");
}

// It goes to sleep 1 ms later.
TEST(Bystanders, ATouchWaitsForAThreadThatGoesToSleep) {
  EXPECT_EQ(ending_of(status_of(with_fake_clock([] {
              Other poster;
              const int64_t asleep_at = fake_now + kMs;
              const int64_t time = waited([&] {
                if (fake_now >= asleep_at) poster.slot().asleep = 1;
              });
              CHECK(time >= kMs && time <= kMs + tick);
            }))),
            "exit 0");
}

// A short system call may be the post itself. One that lasts longer than 50 us waits.
TEST(Bystanders, AThreadRestsInALongSystemCall) {
  EXPECT_EQ(ending_of(status_of(with_fake_clock([] {
              Other waiter;
              tick = 10 * kUs;
              waiter.slot().call_pending = 1;
              const int64_t time = waited();
              waiter.slot().call_pending = 0;
              CHECK(time > 50 * kUs && time <= 50 * kUs + 3 * tick);
            }))),
            "exit 0");
}

// 5 ms for one touch. Four in vain use up the 20 ms; from then on there are 2% of the time: 0.43 ms of 21.5
// ms.
TEST(Bystanders, ATouchDoesNotWaitLongForAThreadThatComputes) {
  EXPECT_EQ(ending_of(status_of(with_fake_clock([] {
              Other computes;
              for (int i = 0; i < 4; ++i) {
                const int64_t time = waited();
                CHECK(time >= 5 * kMs && time <= 5 * kMs + 2 * tick);
              }
              tick = 20 * kUs;
              const int64_t fifth = waited();
              CHECK(fifth >= 400 * kUs && fifth <= 500 * kUs);
              for (int i = 0; i < 10; ++i) CHECK(waited() <= 50 * kUs);
              tick = 500 * kUs;
              fake_now += 1'000'000'000;
              CHECK(waited() >= 5 * kMs);
            }))),
            "exit 0");
}

// 60 waits of 1 ms, or half of that: they are not in vain, and take nothing of the 20 ms.
TEST(Bystanders, WaitsThatEndWithTheOthersAtRestAreFree) {
  EXPECT_EQ(ending_of(status_of(with_fake_clock([] {
              Other other;
              for (int i = 0; i < 60; ++i) {
                other.slot().asleep = 0;
                const int64_t asleep_at = fake_now + kMs;
                waited([&] {
                  if (fake_now >= asleep_at) other.slot().asleep = 1;
                });
              }
              other.slot().asleep = 0;
              CHECK(waited() >= 5 * kMs);
            }))),
            "exit 0");
}

// A second thread touches something while the first one waits: it reads the clock when it begins, and goes
// on.
TEST(Bystanders, TwoThatTouchDoNotWaitForEachOther) {
  EXPECT_EQ(ending_of(status_of(with_fake_clock([] {
              Other second;
              const int64_t touches_at = fake_now + kMs;
              int64_t its_readings = 0;
              waited([&] {
                if (fake_now >= touches_at && its_readings == 0) its_readings = second.touches();
              });
              CHECK(its_readings == 1);
            }))),
            "exit 0");
}

}  // namespace
}  // namespace diogenes::agent
