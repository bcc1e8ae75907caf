// --max-overhead: what is recorded of occurrences that are not looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "agent/watching/facts/sampling.h"
#include "agent/watching/facts/testing/collected_program.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kBytes = 8192;

struct LeftOut : ::testing::Test, Program {
  const uint64_t there = device(kBytes);
  char* host = static_cast<char*>(pinned(kBytes));

  // From here on one in 1024 occurrences of this call is looked at, and not the next ones.
  template <typename Call>
  void sample(const char* symbol, Call call) {
    for (int i = 0; i < 32; ++i) call();
    const facts::SampledSite site = facts::sampling().site_of(kNoStack, find_driver_function(symbol));
    for (int i = 1; i <= 10; ++i) {
      const Nanoseconds all{i * 1'000'000'000ll};
      facts::sampling().charge(site, all);
      facts::sampling().adapt(all, all);
    }
  }
  static bool left_out(const Recorded& call) { return (call.call.flags & kNotLookedAt) != 0; }
};

TEST_F(LeftOut, AnUploadHasNoHash) {
  const Recorded before = h2d(there, host, kBytes);
  sample("cuMemcpyHtoD_v2", [&] { h2d(there, host, kBytes); });
  const int calls = world().driver_calls;
  const Recorded copy = h2d(there, host, kBytes);
  EXPECT_FALSE(left_out(before));
  EXPECT_TRUE(left_out(copy));
  EXPECT_TRUE(hash(before));
  EXPECT_FALSE(hash(copy));
  EXPECT_EQ(world().driver_calls, calls) << "nothing was read back";
}

TEST_F(LeftOut, ADownloadHasNoHashAndIsNotWatched) {
  const Recorded before = d2h(host, there, kBytes);
  EXPECT_TRUE(hash(before));
  EXPECT_TRUE(is_guarded(host));
  touch(host);
  sample("cuMemcpyDtoH_v2", [&] { d2h(host, there, kBytes), touch(host); });
  world().refusals.clear();
  const Recorded copy = d2h(host, there, kBytes);
  EXPECT_TRUE(left_out(copy));
  EXPECT_FALSE(hash(copy));
  EXPECT_FALSE(is_guarded(host));
  EXPECT_EQ(world().refusals, std::vector<WatchRefusal>{WatchRefusal::not_looked_at});
}

TEST_F(LeftOut, AnAsynchronousDownloadIsRefusedAtTheWait) {
  sample("cuMemcpyDtoHAsync_v2", [&] { d2h_async(host, there, kBytes, kStream); });
  synchronize(kStream);
  touch(host);
  world().refusals.clear();
  const Recorded copy = d2h_async(host, there, kBytes, kStream);
  const Recorded wait = synchronize(kStream);
  EXPECT_TRUE(left_out(copy));
  EXPECT_FALSE(left_out(wait));
  EXPECT_FALSE(hash(copy));
  EXPECT_FALSE(is_guarded(host));
  EXPECT_EQ(world().refusals, std::vector<WatchRefusal>{WatchRefusal::not_looked_at});
}

TEST_F(LeftOut, OtherCallsAreLookedAt) {
  sample("cuMemcpyDtoH_v2", [&] { d2h(host, there, kBytes); });
  EXPECT_FALSE(left_out(h2d(there, host, kBytes)));
  char* other = static_cast<char*>(pinned(kBytes));
  d2h_async(other, there, kBytes, kStream);
  synchronize(kStream);
  EXPECT_TRUE(is_guarded(other));
}

// Which memory kernels reach must be known, whatever it costs.
TEST_F(LeftOut, AddressesAreFoundAllTheSame) {
  const uint64_t table = device(kBytes), data = device(kBytes);
  uint64_t pointers[8] = {};
  sample("cuMemcpyHtoD_v2", [&] { h2d(table, pointers, sizeof pointers); });
  EXPECT_EQ(launch(kStream, {table}).flags & kAnyDevice, 0u);
  pointers[3] = data;
  EXPECT_TRUE(left_out(h2d(table, pointers, sizeof pointers)));
  EXPECT_NE(launch(kStream, {table}).flags & kAnyDevice, 0u);
}

}  // namespace
}  // namespace diogenes::agent::testing
