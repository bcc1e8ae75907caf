// The end of a window, and a loop that it shows. It begins at 100 ns and ends at 200 ns.
#include <gtest/gtest.h>

#include "analysis/necessity/testing/cut_traces.h"
#include "analysis/necessity/testing/exhaustive_oracle.h"

namespace diogenes::necessity::testing {
namespace {

constexpr WindowSpan kWindow{100, 200};

std::vector<bool> needless(const Timeline& t) {
  return judge_windows([&t](EventSink& sink) { t.replay(sink); }, {&kWindow, 1}).needless;
}

void expect_needed_behind(const Timeline& t, size_t wait) {
  const Oracle oracle(t.events());
  std::vector<bool> found = needless(t);
  found.resize(oracle.synchronizations().size());
  EXPECT_FALSE(found[wait]) << t.text();
  EXPECT_EQ(oracle.broken_without(found), "") << t.text();
  found = needless_if_killed(t, kWindow);
  EXPECT_TRUE(found[wait]) << t.text();
  EXPECT_NE(oracle.broken_without(found), "") << t.text();
}

// A killed process gives the GPU nothing more. Behind a window, the kernel in s1 reads what S1 waited for.
TEST(WindowEnd, WorkMayBeGivenBehindIt) {
  Timeline t;
  t.at(100).sync(A, {s0, s1}, 9).work(A, s0, {device_write(m0)}).sync(A, {s0}, 0);
  t.at(200).work(A, s1, {device_read(m0)}).ends();
  expect_needed_behind(t, 1);
}

// B starts behind the window, and knows what A knew when it let it go: S1, and not S2.
TEST(WindowEnd, WhatWasHandedOnMayBeLearnedBehindIt) {
  Timeline t;
  t.at(100).sync(A, {s0, s1}, 9).work(A, s0, {host_write(m0)});
  t.begin(A).sync(A, {s0}, 0).watch(0, m0).end(A).release(A, 0).sync(A, {s0}, 0);
  t.at(200).acquire(B, 0, true).touch(B, 0).ends();
  expect_needed_behind(t, 1);
}

// A loop that waits twice for its copy. In the whole run the first waits are needless. Here they are, too, but where the window
// begins: there it is needed for what came before. That makes its site no better than the other one.
TEST(Windows, ALoopIsJudgedAsInTheWholeRun) {
  constexpr uint32_t kIterations = 10;
  Timeline t;
  for (uint32_t i = 0; i < kIterations; ++i) {
    t.at(10 + 20 * i).work(A, s0, {host_write(m0)}).begin(A).sync(A, {s0}, 0).watch(i, m0).end(A);
    t.sync(A, {s0}, 1).touch(A, i);
  }
  t.ends();
  const std::vector<bool> found = needless(t);  // it shows iterations 5 to 8, and the waits of 9
  std::vector<uint32_t> waits;
  for (uint32_t i = 0; i < found.size(); ++i)
    if (found[i]) waits.push_back(i);
  EXPECT_EQ(waits, (std::vector<uint32_t>{12, 14, 16, 18}));
}

}  // namespace
}  // namespace diogenes::necessity::testing
