// When is a synchronization needed: clauses 1 and 2 of DESIGN.md, section 7, on timelines worked by hand.
#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

// ---- clause 1: data that the covered work wrote, or still read ----

TEST_F(Necessity, CopyToPinnedIsUsed) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.guarded(host));
  EXPECT_TRUE(t.touch(static_cast<char*>(host) + 5000, false, TouchBy::program, 250'000'000));
  auto verdict = t.verdict(wait);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->reasons, kCpuAccess);
  EXPECT_GE(verdict->after_ns, 250'000'000);  // from the return to the program, which is a moment before now
  EXPECT_LT(verdict->after_ns, 300'000'000);
  EXPECT_EQ(verdict->use_stack, 99u);
  EXPECT_EQ(verdict->address, t.address(host) + 5000);
}

TEST_F(Necessity, CopyIsNeverUsed) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  auto verdict = t.verdict(wait);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->reasons, kNotNeeded);
  EXPECT_EQ(verdict->after_ns, -1);
}

TEST_F(Necessity, KernelOnDeviceMemoryNeedsNoWait) {
  t.launch(kX);
  auto wait = t.synchronize(kX);
  t.launch(kX);
  auto last = t.synchronize_context();
  EXPECT_TRUE(t.verdict_is_out(wait));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(t.reasons(last), kNotNeeded);
}

TEST_F(Necessity, OfTwoWaitsInARowTheFirstIsNeedless) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto first = t.synchronize(kX);
  auto second = t.synchronize_context();
  EXPECT_TRUE(t.verdict_is_out(first));
  t.touch(host);
  EXPECT_EQ(t.reasons(first), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kCpuAccess);
}

TEST_F(Necessity, UseBetweenTwoWaitsBelongsToTheFirst) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto first = t.synchronize(kX);
  t.touch(host);
  auto second = t.synchronize(kX);
  EXPECT_EQ(t.reasons(first), kCpuAccess);
  EXPECT_EQ(t.reasons(second), kNotNeeded);
}

TEST_F(Necessity, UseWhileTheSecondWaitRunsBelongsToTheFirst) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto first = t.synchronize(kX);
  Timeline::Open second;
  t.begin(second, "cuCtxSynchronize", {});
  t.touch(host);  // by another thread
  auto last = t.end(second, true);
  EXPECT_EQ(t.reasons(first), kCpuAccess);
  EXPECT_EQ(t.reasons(last), kNotNeeded);
}

TEST_F(Necessity, WorkGivenWhileTheWaitRunsIsNotCovered) {
  void* host = t.pinned(kBytes);
  t.launch(kX);
  Timeline::Open first;
  t.begin(first, "cuStreamSynchronize", {kX});
  t.d2h_async(host, kDevice, kBytes, kX);  // by another thread
  auto early = t.end(first, true);
  EXPECT_FALSE(t.guarded(host));
  auto late = t.synchronize(kX);
  EXPECT_TRUE(t.guarded(host));
  t.touch(host);
  EXPECT_EQ(t.reasons(early), kNotNeeded);
  EXPECT_EQ(t.reasons(late), kCpuAccess);
}

TEST_F(Necessity, ReuseOfASource) {
  void* host = t.pinned(kBytes);
  t.h2d_async(kDevice, host, kBytes, kX);
  auto wait = t.synchronize(kX);
  EXPECT_FALSE(t.touch(host, false));  // reading it is no reuse
  EXPECT_TRUE(t.touch(host, true));
  EXPECT_EQ(t.reasons(wait), kSourceReuse);
}

TEST_F(Necessity, PageableSourceWasStaged) {
  void* host = t.pageable(kBytes);
  t.h2d_async(kDevice, host, kBytes, kX);
  auto wait = t.synchronize(kX);
  EXPECT_FALSE(t.touch(host, true));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Necessity, ConstantSourceIsWatchedOnce) {
  void* host = t.pinned(kBytes);
  std::vector<Operation> waits;
  for (int i = 0; i < 5; ++i) {
    t.h2d_async(kDevice, host, kBytes, kX);
    waits.push_back(t.synchronize(kX));
  }
  t.touch(host, true);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(t.reasons(waits[i]), kNotNeeded) << i;
  EXPECT_EQ(t.reasons(waits[4]), kSourceReuse);
}

// What is pageable goes through the driver's own memory: its code reads it. (fetched_back_test.cc: what does
// not.)
TEST_F(Necessity, DeviceReuse) {
  void* host = t.pageable(kBytes);
  auto wait = t.d2h(host, kDevice, kBytes);
  t.h2d(kDevice, host, kBytes);
  auto verdict = t.verdict(wait);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->reasons, kDeviceReuse);
  EXPECT_EQ(verdict->use_stack, world().stack);
}

TEST_F(Necessity, OverwrittenUnused) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto first = t.synchronize(kX);
  t.d2h_async(host, kDevice, kBytes, kX);
  EXPECT_EQ(t.guards_on(host), 1);  // whether it is used at all (unread_on_host.h), and not the wait's
  auto second = t.synchronize(kX);
  t.touch(host);
  EXPECT_EQ(t.reasons(first), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kCpuAccess);
}

TEST_F(Necessity, WhatIsNotOverwrittenStaysWatched) {
  char* host = static_cast<char*>(t.pinned(kBytes));
  t.d2h_async(host, kDevice, kBytes, kX);
  auto first = t.synchronize(kX);
  t.d2h_async(host + 1000, kDevice, 100, kY);
  t.touch(host + 999);
  EXPECT_EQ(t.reasons(first) & kCpuAccess, kCpuAccess);
}

TEST_F(Necessity, AFailedCopyOverwritesNothing) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.call("cuMemcpyDtoHAsync_v2", {t.address(host), kDevice, kBytes, kX}, false, 1);
  EXPECT_NE(t.reasons(wait), kNotNeeded);
}

TEST_F(Necessity, ReleasedUnused) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  auto release = t.free_host(host);
  EXPECT_FALSE(t.guarded(host));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(t.reasons(release), kNotNeeded);
}

TEST_F(Necessity, FreedByTheProgram) {
  void* host = t.pageable(kBytes);
  auto copy = t.d2h(host, kDevice, kBytes);
  open_range(AddressRange::of(t.address(host), kBytes), TouchBy::gone);
  EXPECT_EQ(t.reasons(copy), kNotNeeded);
}

TEST_F(Necessity, SourceFreedByTheProgram) {
  void* host = t.pageable(kBytes);
  t.call("cuMemHostRegister_v2", {t.address(host), kBytes, 0});
  t.h2d_async(kDevice, host, kBytes, kX);
  auto wait = t.synchronize(kX);
  open_range(AddressRange::of(t.address(host), kBytes), TouchBy::gone);
  EXPECT_EQ(t.reasons(wait), kSourceReuse | kSystemCall);
}

TEST_F(Necessity, UnregisteredMemoryKeepsItsData) {
  void* host = t.pageable(kBytes);
  t.call("cuMemHostRegister_v2", {t.address(host), kBytes, 0});
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  auto unregister = t.call("cuMemHostUnregister", {t.address(host)}, false);
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(unregister), ~0u);  // did not wait: no instance
}

// ---- synchronous and conditional copies ----

TEST_F(Necessity, SynchronousCopyCoversItselfAndItsStream) {
  void* one = t.pageable(kBytes);
  void* other = t.pinned(kBytes);
  t.d2h_async(other, kDevice, kBytes, kLegacy);
  auto copy = t.d2h(one, kDevice, kBytes);
  EXPECT_TRUE(t.guarded(one));
  EXPECT_TRUE(t.guarded(other));
  t.touch(other);
  EXPECT_EQ(t.reasons(copy), kCpuAccess);
}

TEST_F(Necessity, OfTwoCopiesUsedTogetherTheSecondIsNeeded) {
  void *one = t.pageable(kBytes), *other = t.pageable(kBytes);
  auto first = t.d2h(one, kDevice, kBytes);
  auto second = t.d2h(other, kDevice, kBytes);
  t.touch(one);
  t.touch(other);
  EXPECT_EQ(t.reasons(first), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kCpuAccess);
}

// tensor.item(): four bytes into a local variable, then the stream is synchronized.
TEST_F(Necessity, Item) {
  int value = 0;
  auto copy = t.d2h_async(&value, t.device(4), sizeof value, kX, true);
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.guarded(&value));
  t.touch(&value);
  EXPECT_EQ(t.reasons(copy), kNotNeeded);  // the latest one that covers it is the needed one
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, ItemThatNobodyLooksAt) {
  int value = 0;
  auto copy = t.d2h(&value, t.device(4), sizeof value);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(copy), kNotNeeded);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Necessity, ItemWhoseWatchpointWentToAnother) {
  int value = 0;
  auto copy = t.d2h(&value, t.device(4), sizeof value);
  t.touch(&value, false, TouchBy::displaced);
  EXPECT_EQ(t.reasons(copy), kSmallRange);
}

// Part of a block is overwritten: the rest of it is a small piece by then.
TEST_F(Necessity, TheRestOfAPageIsWatchedByWatchpoint) {
  auto* host = static_cast<char*>(t.pageable(2 * 4096));
  auto copy = t.d2h(host, t.device(2 * 4096), 2 * 4096);
  auto second = t.d2h(host, t.device(2 * 4096 - 16), 2 * 4096 - 16);
  EXPECT_TRUE(t.guarded(host + 2 * 4096 - 16));
  t.touch(host + 2 * 4096 - 8);
  EXPECT_EQ(t.reasons(copy), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kCpuAccess);
}

TEST_F(Necessity, ItemWithoutWatchpoints) {
  world().watchpoints = false;
  int value = 0;
  uint64_t device = t.device(4);
  auto copy = t.d2h_async(&value, device, sizeof value, kX, true);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(copy), kSmallRange);  // could not be watched: needed, by the first that covers it
  EXPECT_EQ(t.reasons(wait), kNotNeeded);   // the copy had waited already
  EXPECT_EQ(world().unwatched[kSmallRange], 1);
  EXPECT_EQ(world().drops[Drop::watchpoints_missing], 1);
}

TEST_F(Necessity, SynchronousCopyToTheDeviceOrdersOtherStreams) {
  void* host = t.pageable(kBytes);
  auto copy = t.h2d(kDevice, host, kBytes);
  t.launch(kX);
  EXPECT_EQ(t.reasons(copy), kOrder);
}

TEST_F(Necessity, SynchronousCopyToTheDeviceIsNeedlessInItsOwnStream) {
  void* host = t.pageable(kBytes);
  auto copy = t.h2d(kDevice, host, kBytes);
  t.launch(kLegacy);
  auto wait = t.synchronize(kLegacy);
  EXPECT_EQ(t.reasons(copy), kNotNeeded);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

// A large asynchronous copy from pageable memory waits, but for what exactly is not documented: it may own
// what an earlier wait owns, and both count.
TEST_F(Necessity, ConditionalWaitTakesNothingOver) {
  void *host = t.pinned(kBytes), *source = t.pageable(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  auto copy = t.h2d_async(kDevice, source, kBytes, kX, true);
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(copy), kCpuAccess);
}

TEST_F(Necessity, ConditionalWaitAloneIsNeeded) {
  void *host = t.pinned(kBytes), *source = t.pageable(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto copy = t.h2d_async(kDevice, source, kBytes, kX, true);
  EXPECT_TRUE(t.touch(host));
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.touch(host));  // the copy may not have covered it: watched again
  EXPECT_EQ(t.reasons(copy), kCpuAccess);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

// ---- clause 2: out of sight ----

TEST_F(Necessity, SystemCallTakesTheRange) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.touch(host, false, TouchBy::system_call);
  EXPECT_EQ(t.reasons(wait), kSystemCall);
}

TEST_F(Necessity, TouchesThatCouldNotBeToldApart) {
  for (auto [by, reason] : {std::pair{TouchBy::driver, kDriverAccess},
                            {TouchBy::exposed, kExposed},
                            {TouchBy::given_up, kExposed}}) {
    Timeline other;
    void* host = other.pinned(kBytes);
    other.d2h_async(host, kDevice, kBytes, kLegacy);
    auto wait = other.synchronize(kLegacy);
    other.touch(host, false, by);
    EXPECT_EQ(other.reasons(wait), reason);
    EXPECT_EQ(world().unwatched[reason], 1);
  }
}

TEST_F(Necessity, HostFunction) {
  t.call("cuLaunchHostFunc", {kX, 0x1, 0x2});
  auto wait = t.synchronize(kX);
  auto again = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kHostFunction);
  EXPECT_EQ(t.reasons(again), kNotNeeded);
}

TEST_F(Necessity, SharedWithOtherProcesses) {
  void* host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto copy = t.d2h(host, t.device(kBytes), kBytes);
  EXPECT_FALSE(t.guarded(host));
  EXPECT_EQ(t.reasons(copy), kSharedMemory);
  munmap(host, kBytes);
}

TEST_F(Necessity, RegisteredSharedMemory) {
  void* host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  t.call("cuMemHostRegister_v2", {t.address(host), kBytes, 0});
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kSharedMemory);
  munmap(host, kBytes);
}

TEST_F(Necessity, InterProcessMemory) {
  t.call("cuIpcOpenMemHandle_v2", {0, 0, 0});
  t.launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kSharedMemory);
}

}  // namespace
}  // namespace diogenes::agent::testing
