// Which host memory is watched, and what is recorded when memory or its context goes.
#include "agent/watching/facts/fact_collector.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "agent/watching/facts/testing/collected_program.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kBytes = 8192;

struct Collector : ::testing::Test, Program {
  const uint64_t data = device(kBytes);

  bool was_refused(WatchRefusal why) const {
    const auto& all = world().refusals;
    return std::find(all.begin(), all.end(), why) != all.end();
  }
};

TEST_F(Collector, ACopyToTheHostIsWatchedFromTheWaitOn) {
  void* host = pinned(kBytes);
  d2h_async(host, data, kBytes, kStream);
  EXPECT_FALSE(is_guarded(host));
  synchronize(kStream);
  EXPECT_TRUE(is_guarded(host));
}

TEST_F(Collector, AQueryRaisesNoGuard) {
  void* host = pinned(kBytes);
  d2h_async(host, data, kBytes, kStream);
  call("cuStreamQuery", {kStream});
  EXPECT_FALSE(is_guarded(host));
}

TEST_F(Collector, PageableMemoryIsWatchedOnceTheCallThatCopiesIsBack) {
  void* host = pageable(kBytes);
  d2h(host, data, kBytes);
  EXPECT_TRUE(is_guarded(host));
}

TEST_F(Collector, MemoryThatOthersReachIsNotWatched) {
  void* shared = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  call("cuMemHostRegister_v2", {address(shared), kBytes, 0});
  d2h_async(shared, data, kBytes, kStream);
  synchronize(kStream);
  EXPECT_FALSE(is_guarded(shared));
  EXPECT_TRUE(was_refused(WatchRefusal::shared_memory));
  munmap(shared, kBytes);
}

TEST_F(Collector, AGuardThatIsRefusedIsSaid) {
  world().refuse_guards = true;
  void* host = pinned(kBytes);
  d2h_async(host, data, kBytes, kStream);
  synchronize(kStream);
  EXPECT_TRUE(was_refused(WatchRefusal::limit));
  EXPECT_EQ(world().drops[Drop::guards_full], 1);
}

TEST_F(Collector, MappedMemoryIsMarked) {
  void* memory = pageable(kBytes);
  uint64_t out = address(memory);
  EXPECT_NE(
      call("cuMemAllocManaged", {address(&out), kBytes, CU_MEM_ATTACH_GLOBAL}).call.flags & kMappedMemory, 0);
  EXPECT_NE(
      call("cuMemHostAlloc", {address(&out), kBytes, CU_MEMHOSTALLOC_DEVICEMAP}).call.flags & kMappedMemory,
      0);
}

TEST_F(Collector, SharingWithOthersIsMarked) {
  char handle[64] = {};
  EXPECT_NE(call("cuIpcGetMemHandle", {address(handle), data}).call.flags & kSharesMemory, 0);
}

TEST_F(Collector, WhatIsReleasedIsRecordedAndWatchedNoMore) {
  void* host = pageable(kBytes);
  d2h(host, data, kBytes);
  const AddressRange range = AddressRange::of(address(host), kBytes);
  EXPECT_TRUE(facts::may_be_dirty(range));
  facts::note_release(range);
  EXPECT_FALSE(is_guarded(host));
  EXPECT_FALSE(facts::may_be_dirty(range));
  ASSERT_EQ(world().memory_events.size(), 1u);
  EXPECT_EQ(world().memory_events[0].begin, range.begin);
  EXPECT_EQ(world().memory_events[0].event, MemoryEvent::released);
}

// Its handle may come again, and is another context then.
TEST_F(Collector, AContextThatEndsHasItsNumber) {
  const uint16_t before = synchronize(kStream).call.context;
  EXPECT_NE(before, 0);
  EXPECT_EQ(call("cuCtxDestroy_v2", {world().context}).call.argument, before);
  EXPECT_NE(synchronize(kStream).call.context, before);
}

TEST_F(Collector, AStreamIsRecordedWhenItIsFirstNamed) {
  synchronize(kOtherStream);
  synchronize(kOtherStream);
  EXPECT_EQ(world().streams.size(), 1u);
}

}  // namespace
}  // namespace diogenes::agent::testing
