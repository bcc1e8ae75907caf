// Threads that need the same function for the first time, at the same time.
#include "agent/hooks/interpose/next.h"

#include <gtest/gtest.h>

#include <barrier>
#include <deque>
#include <thread>
#include <vector>

namespace diogenes::agent {
namespace {

TEST(Next, EveryThreadThatComesFirstFindsIt) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  std::deque<Next<int()>> nexts;
  for (int i = 0; i < kRounds; ++i) nexts.emplace_back("getppid");
  std::barrier together(kThreads);
  std::atomic<int> missing{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (auto& next : nexts) {
        together.arrive_and_wait();
        if (!next.get()) ++missing;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(missing, 0);
}

TEST(Next, WhatIsNotThereIsNull) {
  Next<int()> next("no_function_has_this_name");
  EXPECT_EQ(next.get(), nullptr);
  EXPECT_EQ(next.get(), nullptr);
}

}  // namespace
}  // namespace diogenes::agent
