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
  // Behind the first calls: all of one path.
  void use_up() {
    for (uint32_t i = 0; i < GpuTimeWindows::kAllCalls; ++i) EXPECT_TRUE(wants(1, i));
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

TEST_F(Windows, OfALongRunAFifth) {
  use_up();
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 1'000'000; ++i) taken += wants(1, i * int64_t{20'000});  // 20 s
  EXPECT_NEAR(taken, 200'000, 30'000);
  EXPECT_NEAR(switches_, 400, 60);
}

// An iteration of 100 ms of ten calls: none is left out by the rhythm.
TEST_F(Windows, NoRhythmOfTheProgramGoesAlongWithThem) {
  use_up();
  std::vector<uint32_t> taken(10);
  for (uint32_t i = 0; i < 100'000; ++i) taken[i % 10] += wants(1, i * 10 * kMillisecond);
  for (const uint32_t of_call : taken) EXPECT_NEAR(of_call, 2'000, 700);
}

TEST_F(Windows, TheFirstOfEachPathOpenOne) {
  use_up();
  EXPECT_FALSE(wants(1, 1));
  for (int i = 0; i < GpuTimeWindows::kOfPath; ++i) EXPECT_TRUE(wants(2, 2 + i));
  EXPECT_TRUE(wants(1, 15)) << "the window is open";
  EXPECT_FALSE(wants(1, 2 + GpuTimeWindows::kOpen));
  EXPECT_EQ(switches_, 3);
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
