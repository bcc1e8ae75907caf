// --max-overhead: what is recorded once it was reached.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "agent/watching/facts/testing/collected_program.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kBytes = 8192;

struct LeftOut : ::testing::Test, Program {
  const uint64_t there = device(kBytes);
  char* host = static_cast<char*>(pinned(kBytes));

  // Of a baseline that took no time: short runs have half a second.
  static void reach_limit() {
    world().baseline_ns = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  }
  static bool left_out(const Recorded& call) { return (call.call.flags & kNotLookedAt) != 0; }
};

TEST_F(LeftOut, AnUploadHasNoHash) {
  const Recorded before = h2d(there, host, kBytes);
  reach_limit();
  const int calls = world().driver_calls;
  const Recorded copy = h2d(there, host, kBytes);
  EXPECT_FALSE(left_out(before));
  EXPECT_TRUE(left_out(copy));
  EXPECT_TRUE(hash(before));
  EXPECT_FALSE(hash(copy));
  EXPECT_EQ(world().driver_calls, calls) << "nothing was read back";
}

TEST_F(LeftOut, DownloadsHaveNoHashAndAreNotWatched) {
  const Recorded before = d2h(host, there, kBytes);
  EXPECT_TRUE(hash(before));
  EXPECT_TRUE(is_guarded(host));
  touch(host);
  reach_limit();
  world().refusals.clear();
  const Recorded copy = d2h(host, there, kBytes);
  EXPECT_TRUE(left_out(copy));
  EXPECT_FALSE(hash(copy));
  const Recorded begun = d2h_async(host, there, kBytes, kStream);
  const Recorded wait = synchronize(kStream);
  EXPECT_TRUE(left_out(begun));
  EXPECT_FALSE(left_out(wait));
  EXPECT_FALSE(hash(begun));
  EXPECT_FALSE(is_guarded(host));
  EXPECT_EQ(world().refusals, std::vector<WatchRefusal>(2, WatchRefusal::not_looked_at));
}

// Which memory kernels reach must be known, whatever it costs.
TEST_F(LeftOut, AddressesAreFoundAllTheSame) {
  const uint64_t table = device(kBytes), data = device(kBytes);
  uint64_t pointers[8] = {};
  reach_limit();
  EXPECT_EQ(launch(kStream, {table}).flags & kAnyDevice, 0u);
  pointers[3] = data;
  EXPECT_TRUE(left_out(h2d(table, pointers, sizeof pointers)));
  EXPECT_NE(launch(kStream, {table}).flags & kAnyDevice, 0u);
}

}  // namespace
}  // namespace diogenes::agent::testing
