// Clause 4: what cannot be watched, and full tables: needed, never missed.
#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

// ---- clause 4: what cannot be watched ----

TEST_F(Necessity, SmallPageable) {
  void* host = t.pageable(4095);
  auto copy = t.d2h(host, t.device(4095), 4095);
  EXPECT_FALSE(t.guarded(host));
  EXPECT_EQ(t.reasons(copy), kSmallRange);
}

TEST_F(Necessity, SmallPinnedIsWatched) {
  void* host = t.pinned(4);
  t.d2h_async(host, kDevice, 4, kX);
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.guarded(host));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Necessity, OnTheStack) {
  alignas(4096) static thread_local char large[1];
  (void)large;
  char local[16384];
  auto copy = t.d2h(local, t.device(sizeof local), sizeof local);
  EXPECT_FALSE(t.guarded(local));
  EXPECT_EQ(t.reasons(copy), kSmallRange);
}

TEST_F(Necessity, GuardRefused) {
  void* host = t.pinned(kBytes);
  world().refuse_guards = true;
  t.d2h_async(host, kDevice, kBytes, kX);
  auto first = t.synchronize(kX);
  auto second = t.synchronize(kX);
  EXPECT_EQ(t.reasons(first), kGuardRefused);
  EXPECT_EQ(t.reasons(second), kNotNeeded);
  EXPECT_GT(world().drops[Drop::guards_full], 0);
}

TEST_F(Necessity, GuardRefusedOnManagedMemory) {
  t.managed(kBytes);
  world().refuse_guards = true;
  t.launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kGuardRefused);
}

TEST_F(Necessity, DeviceThatReadsPageTables) {
  world().page_tables = 1;
  constexpr uint64_t kNew = 0x9000;
  t.stream(kNew, CU_STREAM_NON_BLOCKING);
  t.launch(kLegacy);
  auto kernel = t.synchronize(kLegacy);
  EXPECT_EQ(t.reasons(kernel), kUnknownMemory);
}

TEST_F(Necessity, GraphIsNotDecoded) {
  t.call("cuGraphLaunch", {0x1, kX});
  auto wait = t.synchronize(kX);
  auto again = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
  EXPECT_EQ(t.reasons(again), kNotNeeded);
}

TEST_F(Necessity, BatchIsNotDecoded) {
  t.call("cuMemcpyBatchAsync_v2", {0, 0, 0, 0, 0, 0, 0, kX});
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(Necessity, UnwatchableBehindAnEventCountsForBoth) {
  t.launch(kX);
  t.call("cuGraphLaunch", {0x1, kX});
  t.record(kE, kX);
  t.call("cuGraphLaunch", {0x1, kX});
  auto event = t.synchronize_event(kE);
  auto stream = t.synchronize(kX);
  EXPECT_EQ(t.reasons(event), kUndecoded);
  EXPECT_EQ(t.reasons(stream), kUndecoded);
}

// ---- objects that come again, and full tables ----

TEST_F(Necessity, HandleOfADestroyedStreamIsAnotherStream) {
  t.launch(kX);
  auto wait = t.synchronize(kX);
  t.call("cuStreamDestroy_v2", {kX});
  t.stream(kX, CU_STREAM_NON_BLOCKING);
  t.launch(kX);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Necessity, WorkOfADestroyedStreamIsStillCovered) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  t.call("cuStreamDestroy_v2", {kX});
  auto wait = t.synchronize_context();
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, StreamsMadeAndDestroyedForEver) {
  for (uint64_t i = 0; i < 2000; ++i) {
    uint64_t handle = 0x100000 + 16 * i;
    t.stream(handle, CU_STREAM_NON_BLOCKING);
    t.launch(handle);
    t.synchronize(handle);
    t.call("cuStreamDestroy_v2", {handle});
  }
  EXPECT_EQ(world().drops[Drop::objects_full], 0);
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Necessity, TooManyStreams) {
  for (uint64_t i = 0; i < 300; ++i) {
    t.stream(0x100000 + 16 * i, CU_STREAM_NON_BLOCKING);
    t.launch(0x100000 + 16 * i);
  }
  EXPECT_GT(world().drops[Drop::objects_full], 0);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait) & kUndecoded, kUndecoded);
}

TEST_F(Necessity, TooManyEventsMayStandForAnything) {
  void* host = t.pinned(kBytes);
  for (uint64_t i = 0; i < 5000; ++i) t.record(0x100000 + 16 * i, kX);
  EXPECT_GT(world().drops[Drop::objects_full], 0);
  t.d2h_async(host, kDevice, kBytes, kX);
  t.record(0x100000 + 16 * 4999, kX);
  auto wait = t.synchronize_event(0x100000 + 16 * 4999);
  EXPECT_TRUE(t.touch(host));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, TooManyRanges) {
  char* host = static_cast<char*>(t.pinned(16 * 9000));
  for (int i = 0; i < 9000; ++i) t.d2h_async(host + 16 * i, kDevice, 8, kX);
  auto wait = t.synchronize(kX);
  EXPECT_GT(world().drops[Drop::objects_full], 0);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(Necessity, TooManyManagedAllocations) {
  for (int i = 0; i < 1100; ++i) t.managed(64);
  t.launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUnknownMemory);
}

// Events waited for in the reverse of their order: each still owns its part.
TEST_F(Necessity, TooManyOwnersOfOneStream) {
  std::vector<Operation> waits;
  void* host = t.pinned(kBytes);
  for (uint64_t i = 0; i < 40; ++i) {
    if (i == 39) t.d2h_async(host, kDevice, kBytes, kX);
    t.launch(kX);
    t.record(0x100000 + 16 * i, kX);
  }
  for (uint64_t i = 40; i-- > 0;) waits.push_back(t.synchronize_event(0x100000 + 16 * i));
  t.touch(host);
  EXPECT_GT(world().drops[Drop::objects_full], 0);
  EXPECT_NE(t.reasons(waits[0]), kNotNeeded);
}

TEST_F(Necessity, ContextsEnd) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.call("cuCtxDestroy_v2", {0x100}, true);
  EXPECT_FALSE(t.guarded(host));
  EXPECT_EQ(t.reasons(wait), kExposed);
}

}  // namespace
}  // namespace diogenes::agent::testing
