#include "agent/core/recording/gpu_time_windows.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace diogenes::agent {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

class Windows : public testing::Test {
 protected:
  bool wants(uint32_t path, int64_t now) {
    return windows_->wants(path, now, [this](bool on) {
      ++switches_;
      return is_on_ = on && works_;
    });
  }
  // Behind the first calls, all of one path, and a window that is used up, too.
  void use_up() {
    for (int i = 0; i < GpuTimeWindows::kFirst + GpuTimeWindows::kOfWindow; ++i) EXPECT_TRUE(wants(1, i));
    EXPECT_EQ(switches_, 0);
  }
  std::unique_ptr<GpuTimeWindows> windows_ = std::make_unique<GpuTimeWindows>();
  int switches_ = 0;
  bool is_on_ = true, works_ = true;
};

TEST_F(Windows, TheFirstCallsAreAllTaken) {
  use_up();
  EXPECT_FALSE(wants(1, 1 * kMillisecond));
  EXPECT_FALSE(is_on_);
}

// 100,000 calls a second: of each tenth of a second a thousand.
TEST_F(Windows, OfManyCallsSoManyInEachTenthOfASecond) {
  use_up();
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 2'000'000; ++i) taken += wants(1, i * int64_t{10'000});  // 20 s
  EXPECT_NEAR(taken, 200'000, 20'000);
  EXPECT_NEAR(switches_, 400, 40);
}

TEST_F(Windows, OfFewCallsAll) {
  use_up();
  for (int64_t i = 800; i < 50'000; ++i) EXPECT_TRUE(wants(1, i * kMillisecond / 4)) << i;  // 4,000 a second
  EXPECT_EQ(switches_, 0);
}

// The program is no longer recorded, and later is again.
TEST_F(Windows, EndAndBeginWithTheNextCall) {
  EXPECT_TRUE(wants(1, 10));
  const auto off = [this](bool on) { return is_on_ = on; };
  EXPECT_TRUE(windows_->end(off));
  EXPECT_FALSE(is_on_);
  EXPECT_TRUE(windows_->end([](bool) { return ADD_FAILURE() << "it is off already", false; }));
  EXPECT_TRUE(wants(1, 5 * kMillisecond));
  EXPECT_TRUE(is_on_);
  EXPECT_EQ(switches_, 1);
}

TEST_F(Windows, StayOpenWhereRecordingCannotEnd) {
  EXPECT_FALSE(windows_->end([](bool) { return true; }));  // a capture is under way
  EXPECT_TRUE(wants(1, 10));
  EXPECT_EQ(switches_, 0);
}

// An iteration of 1 ms, of a hundred calls: none is left out by the rhythm.
TEST_F(Windows, NoRhythmOfTheProgramGoesAlongWithThem) {
  use_up();
  std::vector<uint32_t> taken(10);
  for (int64_t i = 0; i < 2'000'000; ++i) taken[i % 100'000 / 10'000] += wants(1, i * kMillisecond / 100);
  for (const uint32_t of_part : taken) EXPECT_NEAR(of_part, 20'000, 8'000);
}

TEST_F(Windows, APathThatIsNewBeginsAShortOneInBetween) {
  use_up();
  EXPECT_FALSE(wants(1, 1));
  EXPECT_FALSE(wants(2, 1 * kMillisecond)) << "the last one is not long ago";
  const int64_t sooner = GpuTimeWindows::kAtLeast + kMillisecond;
  EXPECT_FALSE(wants(1, sooner));
  EXPECT_TRUE(wants(2, sooner));
  for (int i = 1; i < GpuTimeWindows::kOfNew; ++i) EXPECT_TRUE(wants(1, sooner));
  EXPECT_FALSE(wants(1, sooner));
  EXPECT_FALSE(wants(2, sooner));
  EXPECT_TRUE(wants(2, 2 * sooner)) << "recorded once so far";
  EXPECT_TRUE(wants(2, 2 * sooner));
  EXPECT_TRUE(wants(2, 2 * sooner));
  for (int i = 3; i < GpuTimeWindows::kOfNew; ++i) EXPECT_TRUE(wants(1, 2 * sooner));
  EXPECT_FALSE(wants(2, 2 * sooner));
  EXPECT_FALSE(wants(2, 2 * sooner + GpuTimeWindows::kAtLeast)) << "it is known now";
}

TEST_F(Windows, AShortOneDoesNotPutOffTheNextLongOne) {
  use_up();
  EXPECT_FALSE(wants(1, 1));
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 200'000; ++i) taken += wants(i % 100 == 0 ? i : 1, i * int64_t{10'000});  // 2 s
  EXPECT_NEAR(taken, 20'000 + 10'000, 4'000);
}

// A program that does something new all the time: 1,000 calls each tenth of a second, and 100 fifty times a second.
TEST_F(Windows, NewPathsSwitchNoMoreThanFiftyTimesASecond) {
  use_up();
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 300'000; ++i) taken += wants(i, i * int64_t{10'000});  // 3 s
  EXPECT_LE(switches_, 2 * 3 * 60);
  EXPECT_LE(taken, 3 * 16'000u);
}

TEST_F(Windows, WhatCannotBeginAgainIsNotRecorded) {
  use_up();
  EXPECT_FALSE(wants(1, 1));
  works_ = false;
  for (int64_t now = 0; now < 1'000 * kMillisecond; now += kMillisecond) EXPECT_FALSE(wants(1, now));
  EXPECT_FALSE(is_on_);
}

TEST(WindowsOfManyThreads, OneSwitchesAtATime) {
  auto windows = std::make_unique<GpuTimeWindows>();
  std::atomic<int> inside{0}, together{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 50'000; ++i)
        windows->wants(t, i * kMillisecond, [&](bool on) {
          if (inside.fetch_add(1) != 0) ++together;
          inside.fetch_sub(1);
          return on;
        });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together.load(), 0);
}

}  // namespace
}  // namespace diogenes::agent
