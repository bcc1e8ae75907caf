// When is a synchronization needed: every clause of DESIGN.md, section 7, on timelines worked by hand.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "agent/necessity/testing/timeline.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kX = 0x1000, kY = 0x2000, kZ = 0x3000;  // streams
constexpr uint64_t kE = 0x5000, kF = 0x6000;               // events
constexpr uint64_t kDevice = 0x7000;
constexpr uint64_t kBytes = 8192;
constexpr uint32_t kNotNeeded = 0;

struct Necessity : ::testing::Test {
  Timeline t;
  void SetUp() override {
    t.stream(kX, CU_STREAM_NON_BLOCKING);
    t.stream(kY, CU_STREAM_NON_BLOCKING);
    t.stream(kZ, CU_STREAM_NON_BLOCKING);
  }
};

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

TEST_F(Necessity, DeviceReuse) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.h2d_async(kDevice, host, kBytes, kX);
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
  EXPECT_FALSE(t.guarded(host));
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
  uint64_t device = t.device(4);
  auto copy = t.d2h_async(&value, device, sizeof value, kX, true);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(copy), kSmallRange);  // could not be watched: needed, by the first that covers it
  EXPECT_EQ(t.reasons(wait), kNotNeeded);   // the copy had waited already
  EXPECT_EQ(world().unwatched[kSmallRange], 1);
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

// ---- clause 3: order between streams ----

TEST_F(Necessity, OrdersTwoStreams) {
  t.launch(kX);
  auto wait = t.synchronize(kX);
  t.launch(kY);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Necessity, StreamsOrderedByAnEvent) {
  t.launch(kX);
  t.record(kE, kX);
  t.wait(kY, kE);
  auto wait = t.synchronize(kX);
  t.launch(kY);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Necessity, EventOrdersOnlyWhatCameBeforeIt) {
  t.launch(kX);
  t.record(kE, kX);
  t.launch(kX);
  t.wait(kY, kE);
  auto wait = t.synchronize(kX);
  t.launch(kY);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Necessity, OrderOverTwoEvents) {
  t.launch(kX);
  t.record(kE, kX);
  t.wait(kY, kE);
  t.record(kF, kY);
  t.wait(kZ, kF);
  auto wait = t.synchronize(kX);
  t.launch(kZ);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Necessity, OnceOrderedTheNextWaitIsNotNeededForIt) {
  t.launch(kX);
  auto first = t.synchronize(kX);
  t.launch(kY);
  auto second = t.synchronize(kX);
  t.launch(kY);
  EXPECT_EQ(t.reasons(first), kOrder);
  EXPECT_EQ(t.reasons(second), kNotNeeded);
}

TEST_F(Necessity, OfTwoWaitsBeforeOtherWorkTheSecondOrders) {
  t.launch(kX);
  auto first = t.synchronize(kX);
  auto second = t.synchronize(kX);
  t.launch(kY);
  EXPECT_EQ(t.reasons(first), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kOrder);
}

TEST_F(Necessity, WorkStartedWhileAnotherWaitRunsReliesOnTheFirst) {
  t.launch(kX);
  auto first = t.synchronize(kX);
  Timeline::Open launch;
  t.begin(launch, "cuMemsetD8Async", {kDevice, 0, 16, kY});
  auto second = t.synchronize(kX);  // another thread
  t.end(launch);
  EXPECT_EQ(t.reasons(first), kOrder);
  EXPECT_EQ(t.reasons(second), kNotNeeded);
}

TEST_F(Necessity, StreamOrderedMemoryIsReusedInOrder) {
  t.launch(kX);
  auto wait = t.synchronize(kX);
  t.call("cuMemFreeAsync", {kDevice, kY});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Necessity, EventSynchronizeCoversWhatWasRecorded) {
  void *early = t.pinned(kBytes), *late = t.pinned(kBytes);
  t.d2h_async(early, kDevice, kBytes, kX);
  t.record(kE, kX);
  t.d2h_async(late, kDevice, kBytes, kX);
  auto wait = t.synchronize_event(kE);
  EXPECT_TRUE(t.guarded(early));
  EXPECT_FALSE(t.guarded(late));
  t.touch(early);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

// The wait for the stream covers more, but for the early data the event's is the later one.
TEST_F(Necessity, LatestCoveringWaitOfEachPart) {
  void *early = t.pinned(kBytes), *late = t.pinned(kBytes);
  t.d2h_async(early, kDevice, kBytes, kX);
  t.record(kE, kX);
  t.d2h_async(late, kDevice, kBytes, kX);
  auto stream = t.synchronize(kX);
  auto event = t.synchronize_event(kE);
  t.touch(early);
  EXPECT_EQ(t.reasons(stream), kNotNeeded);
  EXPECT_EQ(t.reasons(event), kCpuAccess);
}

TEST_F(Necessity, LateDataStaysWithTheStreamsWait) {
  void *early = t.pinned(kBytes), *late = t.pinned(kBytes);
  t.d2h_async(early, kDevice, kBytes, kX);
  t.record(kE, kX);
  t.d2h_async(late, kDevice, kBytes, kX);
  auto stream = t.synchronize(kX);
  auto event = t.synchronize_event(kE);
  t.touch(late);
  EXPECT_EQ(t.reasons(stream), kCpuAccess);
  EXPECT_EQ(t.reasons(event), kNotNeeded);
}

TEST_F(Necessity, EventOfOneStreamCoversAnotherThatItWaitedFor) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  t.record(kE, kX);
  t.wait(kY, kE);
  auto wait = t.synchronize(kY);
  EXPECT_TRUE(t.guarded(host));
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, AWaitForAnotherStreamCoversNothing) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  auto other = t.synchronize(kY);
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(other), kNotNeeded);
}

TEST_F(Necessity, EventThatWasNeverSeenMayStandForAnything) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  auto unknown = t.synchronize_event(kE);
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(unknown), kCpuAccess);
}

// A successful query proves completion, but the program need not have asked for this use's sake.
TEST_F(Necessity, QueryTakesNothingOver) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.call("cuStreamQuery", {kX});
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

// ---- default streams ----

TEST_F(Necessity, LegacyStreamAndBlockingStreamsWaitForEachOther) {
  constexpr uint64_t kBlocking = 0x4000;
  t.stream(kBlocking);
  t.launch(kBlocking);
  auto first = t.synchronize(kBlocking);
  t.launch(kLegacy);
  auto second = t.synchronize(kLegacy);
  t.launch(kBlocking);
  EXPECT_EQ(t.reasons(first), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kNotNeeded);
}

TEST_F(Necessity, NonBlockingStreamsDoNotWaitForTheLegacyStream) {
  t.launch(kLegacy);
  auto wait = t.synchronize(kLegacy);
  t.launch(kX);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Necessity, SynchronousCopyInTheLegacyStreamCoversBlockingStreams) {
  constexpr uint64_t kBlocking = 0x4000;
  t.stream(kBlocking);
  void *host = t.pinned(kBytes), *small = t.pageable(8);
  t.d2h_async(host, kDevice, kBytes, kBlocking);
  auto copy = t.d2h(small, t.device(8), 8);
  EXPECT_TRUE(t.guarded(host));
  t.touch(host);
  EXPECT_EQ(t.reasons(copy), kCpuAccess | kSmallRange);
}

// That the wait for the legacy stream covers blocking streams, without new work in it, is not documented.
TEST_F(Necessity, WaitForTheLegacyStreamMayCoverBlockingStreams) {
  constexpr uint64_t kBlocking = 0x4000;
  t.stream(kBlocking);
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kBlocking);
  auto own = t.synchronize(kBlocking);
  auto legacy = t.synchronize(kLegacy);
  t.touch(host);
  EXPECT_EQ(t.reasons(own), kCpuAccess);
  EXPECT_EQ(t.reasons(legacy), kCpuAccess);
}

TEST_F(Necessity, PerThreadStreamIsABlockingStream) {
  t.launch(kLegacy);
  auto wait = t.synchronize(kLegacy);
  t.call("cuMemsetD8Async_ptsz", {kDevice, 0, 16, 0});
  auto own = t.call("cuStreamSynchronize_ptsz", {0}, true);
  t.launch(kLegacy);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(t.reasons(own), kNotNeeded);
}

TEST_F(Necessity, PerThreadStreamIsNotTheLegacyStream) {
  void* host = t.pinned(kBytes);
  t.call("cuMemcpyDtoHAsync_v2_ptsz", {t.address(host), kDevice, kBytes, 0});
  auto wait = t.call("cuStreamSynchronize_ptsz", {0}, true);
  t.launch(kX);
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kOrder | kCpuAccess);
}

TEST_F(Necessity, ReservedHandlesNameTheDefaultStreams) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kOwn);
  auto legacy = t.synchronize(1);
  auto own = t.call("cuStreamSynchronize_ptsz", {0}, true);
  t.touch(host);
  EXPECT_EQ(t.reasons(own), kCpuAccess);
  EXPECT_EQ(t.reasons(legacy), kNotNeeded);
}

// ---- contexts ----

TEST_F(Necessity, ContextSynchronizeCoversItsContextOnly) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kLegacy);
  auto wait = t.synchronize_context();
  t.context(0x200);
  auto other = t.synchronize_context();
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(other), kNotNeeded);
}

TEST_F(Necessity, DefaultStreamsOfTwoContextsAreTwo) {
  t.launch(kLegacy);
  auto wait = t.synchronize(kLegacy);
  t.context(0x200);
  t.launch(kLegacy);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Necessity, StreamOfUnknownContextMayBeCovered) {
  constexpr uint64_t kForeign = 0x8000;
  world().stream_flags[kForeign] = CU_STREAM_NON_BLOCKING;
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kForeign);
  auto wait = t.synchronize(kForeign);
  auto context = t.synchronize_context();
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(context), kCpuAccess);
}

// ---- implicit waits ----

TEST_F(Necessity, FreeCoversTheContext) {
  uint64_t memory = t.device(64);
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto release = t.free_device(memory);
  t.touch(host);
  EXPECT_EQ(t.reasons(release), kCpuAccess);
}

TEST_F(Necessity, FreeBehindKernelsIsNeedless) {
  uint64_t memory = t.device(64);
  t.launch(kLegacy, {memory});
  auto release = t.free_device(memory);
  t.launch(kLegacy);
  EXPECT_EQ(t.reasons(release), kNotNeeded);
}

TEST_F(Necessity, FreeThatDidNotWaitIsNoSynchronization) {
  uint64_t memory = t.device(64);
  t.launch(kLegacy);
  auto release = t.call("cuMemFree_v2", {memory}, false);
  EXPECT_FALSE(t.verdict(release));
}

TEST_F(Necessity, FreeOfStreamOrderedMemoryMayCover) {
  uint64_t memory = t.address(t.pageable(64));
  t.call("cuMemAllocAsync", {t.address(&memory), 64, kX});
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  auto release = t.free_device(memory);
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(release), kCpuAccess);
}

TEST_F(Necessity, ModuleLoadWaitsForItselfToo) {
  auto at_start = t.call("cuModuleLoadData", {0, 0}, true);
  t.launch(kLegacy);
  auto later = t.call("cuModuleLoadData", {0, 0}, true);
  EXPECT_EQ(t.reasons(at_start), kOwnWork);
  EXPECT_EQ(t.reasons(later), kNotNeeded);
}

TEST_F(Necessity, LaunchThatLoadsItsModuleIsNotJudged) {
  t.launch(kX);
  auto launch = t.call("cuLaunchKernel", {0xf00, 1, 1, 1, 1, 1, 1, 0, kX, 0, 0}, true);
  EXPECT_EQ(t.reasons(launch), kOwnWork);
}

TEST_F(Necessity, FailedSynchronizationHasNoVerdict) {
  t.launch(kX);
  auto wait = t.call("cuStreamSynchronize", {kX}, true, 719);
  EXPECT_FALSE(t.verdict(wait));
}

// ---- managed memory, and pinned memory that kernels reach ----

TEST_F(Necessity, ManagedMemoryAfterAKernel) {
  void* memory = t.managed(kBytes);
  t.launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.guarded(memory));
  t.touch(memory);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, ManagedMemoryIsWatchedAgainAfterTheNextKernel) {
  void* memory = t.managed(kBytes);
  t.launch(kX);
  auto first = t.synchronize(kX);
  t.touch(memory);
  auto idle = t.synchronize(kX);
  EXPECT_FALSE(t.touch(memory));  // nothing was written since: not watched
  t.launch(kX);
  auto second = t.synchronize(kX);
  EXPECT_TRUE(t.touch(memory));
  EXPECT_EQ(t.reasons(first), kCpuAccess);
  EXPECT_EQ(t.reasons(idle), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kCpuAccess);
}

TEST_F(Necessity, ManagedMemoryBelongsToTheLatestWait) {
  void* memory = t.managed(kBytes);
  t.launch(kX);
  auto first = t.synchronize(kX);
  auto second = t.synchronize(kX);
  t.touch(memory);
  EXPECT_EQ(t.reasons(first), kNotNeeded);
  EXPECT_EQ(t.reasons(second), kCpuAccess);
}

TEST_F(Necessity, ManagedMemoryWrittenInTwoStreams) {
  void* memory = t.managed(kBytes);
  t.launch(kX);
  t.launch(kY);
  auto x = t.synchronize(kX);
  auto y = t.synchronize(kY);
  t.touch(memory);
  EXPECT_EQ(t.reasons(x), kCpuAccess);
  EXPECT_EQ(t.reasons(y), kCpuAccess);
}

TEST_F(Necessity, MemsetOfManagedMemoryWaits) {
  void *memory = t.managed(kBytes), *other = t.managed(kBytes);
  auto fill = t.call("cuMemsetD8_v2", {t.address(memory), 0, kBytes}, true);
  EXPECT_TRUE(t.guarded(memory));
  EXPECT_FALSE(t.guarded(other));
  t.touch(memory);
  EXPECT_EQ(t.reasons(fill), kCpuAccess);
}

TEST_F(Necessity, MemsetOfManagedMemoryThatNobodyReads) {
  void* memory = t.managed(kBytes);
  auto fill = t.call("cuMemsetD8_v2", {t.address(memory), 0, kBytes}, true);
  t.launch(kLegacy);
  auto again = t.call("cuMemsetD8_v2", {t.address(memory), 0, kBytes}, true);
  EXPECT_EQ(t.reasons(fill), kNotNeeded);
  EXPECT_EQ(t.reasons(again), kNotNeeded);
}

// Two halves of one allocation, written in order: the host reads the first half while the second is still
// being written.
TEST_F(Necessity, ManagedMemoryInTwoParts) {
  char* memory = static_cast<char*>(t.managed(kBytes));
  t.call("cuMemsetD8Async", {t.address(memory), 0, 4096, kX});
  auto wait = t.synchronize(kX);
  t.call("cuMemsetD8Async", {t.address(memory) + 4096, 0, 4096, kX});
  t.touch(memory);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, FreedManagedMemoryIsUnused) {
  void* memory = t.managed(kBytes);
  t.launch(kX);
  auto wait = t.synchronize(kX);
  t.free_device(t.address(memory));
  EXPECT_FALSE(t.guarded(memory));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Necessity, PinnedMemoryGivenToAKernel) {
  void *given = t.pinned(kBytes), *other = t.pinned(kBytes);
  t.launch(kX, {kDevice, t.address(given) + 128});
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.guarded(given));
  EXPECT_FALSE(t.guarded(other));
  t.touch(given);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, PinnedMemoryGivenOnceIsReachedByLaterKernels) {
  void* given = t.pinned(kBytes);
  t.launch(kX, {t.address(given)});
  t.synchronize(kX);
  t.touch(given);
  t.launch(kX);  // the address may be kept in device memory
  auto wait = t.synchronize(kX);
  t.touch(given);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, PinnedMemoryGivenThroughDeviceMemory) {
  void* given = t.pinned(kBytes);
  uint64_t table = t.device(64);
  uint64_t pointers[8] = {0, 0, 0, t.address(given) + 8};
  t.h2d(table, pointers, sizeof pointers);
  t.launch(kLegacy, {table});
  auto wait = t.synchronize(kLegacy);
  t.touch(given);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, MappedAndAskedFor) {
  void *mapped = t.pinned(kBytes, CU_MEMHOSTALLOC_DEVICEMAP), *asked = t.pinned(kBytes);
  uint64_t device = 0;
  t.call("cuMemHostGetDevicePointer_v2", {t.address(&device), t.address(asked), 0});
  t.launch(kX);
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(mapped));
  EXPECT_TRUE(t.guarded(asked));
}

TEST_F(Necessity, UnknownParametersGiveEverything) {
  void* host = t.pinned(kBytes);
  uint64_t value = 1;
  void* parameters[] = {&value};
  t.call("cuLaunchKernel", {0xbad0, 1, 1, 1, 1, 1, 1, 0, kX, t.address(parameters), 0});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(host));
}

TEST_F(Necessity, ParametersInABuffer) {
  void* host = t.pinned(kBytes);
  uint64_t buffer[] = {1, 2, t.address(host)};
  size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  t.call("cuLaunchKernel", {0xbad0, 1, 1, 1, 1, 1, 1, 0, kX, 0, t.address(extra)});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(host));
}

TEST_F(Necessity, UnregisteredMemoryIsOutOfKernelsReach) {
  void* host = t.pageable(kBytes);
  t.call("cuMemHostRegister_v2", {t.address(host), kBytes, CU_MEMHOSTREGISTER_DEVICEMAP});
  t.launch(kX);
  auto wait = t.synchronize(kX);
  auto unregister = t.call("cuMemHostUnregister", {t.address(host)}, true);
  t.touch(host);
  t.launch(kX);
  auto later = t.synchronize(kX);
  EXPECT_FALSE(t.touch(host));
  // The unregistration's wait is not known to cover non-blocking streams: both may own the data.
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(unregister), kCpuAccess);
  EXPECT_EQ(t.reasons(later), kNotNeeded);
}

TEST_F(Necessity, ManagedVariableOfAModule) {
  uint64_t variable = t.address(t.pageable(kBytes));
  world().pointers[variable] = {CU_MEMORYTYPE_DEVICE, true};
  t.call("cuMemsetD8Async", {variable, 0, 16, kX});
  auto fill = t.synchronize(kX);
  t.launch(kX);
  auto kernel = t.synchronize(kX);
  EXPECT_EQ(t.reasons(fill), kUnknownMemory);
  EXPECT_EQ(t.reasons(kernel), kUnknownMemory);
}

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

// ---- capture ----

TEST_F(Necessity, CapturedCallsDoNothing) {
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.call("cuStreamBeginCapture_v2", {kY, 0});
  t.call("cuMemcpyDtoHAsync_v2", {t.address(host), kDevice, kBytes, kY}, false, 0, kCapturing);
  t.call("cuEventRecord", {kE, kY}, false, 0, kCapturing);
  t.call("cuStreamEndCapture", {kY, 0}, false, 0, kCapturing);
  EXPECT_TRUE(t.guarded(host));  // nothing was overwritten
  auto event = t.synchronize_event(kE);
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(t.reasons(event), kCpuAccess);  // what a captured event stands for is not known
}

TEST_F(Necessity, TheDriverIsNotAskedDuringACapture) {
  void* host = t.pageable(kBytes);
  t.call("cuStreamBeginCapture_v2", {kY, 0});
  int before = world().driver_calls_made;
  t.call("cuMemcpyDtoHAsync_v2", {t.address(host), 0x1234, kBytes, kX}, true);
  EXPECT_EQ(world().driver_calls_made, before);
  t.call("cuStreamEndCapture", {kY, 0}, false, 0, kCapturing);
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

// ---- calls of several threads that overlap, and the edges of what is certain ----

// Another thread's copy returns while this one runs: which of the two came first in the stream is not known.
TEST_F(Necessity, CopiesOfTwoThreadsInOneStream) {
  void *one = t.pageable(kBytes), *other = t.pinned(kBytes);
  Timeline::Open copy;
  t.begin(copy, "cuMemcpyDtoH_v2", {t.address(one), kDevice, kBytes});
  t.d2h_async(other, kDevice, kBytes, kLegacy);
  auto first = t.end(copy, true);
  EXPECT_TRUE(t.touch(other));
  auto second = t.synchronize(kLegacy);
  EXPECT_TRUE(t.touch(other));  // it may not have been there yet
  EXPECT_EQ(t.reasons(first), kCpuAccess);
  EXPECT_EQ(t.reasons(second), kCpuAccess);
}

// A staged copy may still be on its way to the device when the call returns: a later wait orders it.
TEST_F(Necessity, StagedCopyToTheDeviceMayNotBeThereYet) {
  void* host = t.pageable(kBytes);
  auto copy = t.h2d(kDevice, host, kBytes);
  t.launch(kX);
  auto wait = t.synchronize(kLegacy);
  t.launch(kX);
  EXPECT_EQ(t.reasons(copy), kOrder);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Necessity, ManagedMemoryAfterAConditionalWait) {
  void *memory = t.managed(kBytes), *source = t.pageable(kBytes);
  t.launch(kX);
  auto copy = t.h2d_async(kDevice, source, kBytes, kX, true);
  EXPECT_TRUE(t.touch(memory));
  EXPECT_EQ(t.reasons(copy), kCpuAccess);
}

TEST_F(Necessity, KernelBeforeAnEventAndManyBehindIt) {
  void* memory = t.managed(kBytes);
  t.launch(kX);
  t.record(kE, kX);
  for (int i = 0; i < 40; ++i) t.launch(kX);
  auto event = t.synchronize_event(kE);
  EXPECT_TRUE(t.touch(memory));
  EXPECT_EQ(t.reasons(event), kCpuAccess);
}

TEST_F(Necessity, WaitThatCoversNothingNewOwesNothingToWhatIsBehindIt) {
  t.launch(kX);
  t.record(kE, kX);
  t.synchronize(kX);
  t.call("cuGraphLaunch", {0x1, kX});
  auto event = t.synchronize_event(kE);
  EXPECT_EQ(t.reasons(event), kNotNeeded);
}

// A variable that the module manages is found when its address is asked for; kernels reach it without being
// given it.
TEST_F(Necessity, ManagedVariableThatOnlyKernelsWrite) {
  char* variable = static_cast<char*>(t.pageable(kBytes));
  uint64_t found = t.address(variable), bytes = 4;
  world().pointers[found] = {CU_MEMORYTYPE_DEVICE, true};
  t.call("cuModuleGetGlobal_v2", {t.address(&found), t.address(&bytes), 0x1, 0});
  t.launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.touch(variable));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(Necessity, DeviceVariableIsNotWatched) {
  uint64_t found = 0x4321000, bytes = 4;
  world().pointers[found] = {CU_MEMORYTYPE_DEVICE, false};
  t.call("cuModuleGetGlobal_v2", {t.address(&found), t.address(&bytes), 0x1, 0});
  t.launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

// ---- stage 4 ----

TEST(SyncUse, OnlyPlannedSitesAreWatchedAndRecorded) {
  Timeline t(Stage::sync_use);
  void* host = t.pinned(kBytes);
  constexpr uint32_t kPlanned = 42;
  world().planned_stacks = {kPlanned};
  t.d2h_async(host, kDevice, kBytes, kLegacy);
  auto other = t.synchronize(kLegacy);
  EXPECT_FALSE(t.guarded(host));
  world().stack = kPlanned;
  auto planned = t.synchronize(kLegacy);
  EXPECT_TRUE(t.guarded(host));
  t.touch(host, false, TouchBy::program, 77'000'000);
  auto verdict = t.verdict(planned);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->reasons, kCpuAccess);
  EXPECT_GE(verdict->after_ns, 77'000'000);
  EXPECT_LT(verdict->after_ns, 127'000'000);
  EXPECT_FALSE(t.verdict(other));
  EXPECT_TRUE(world().hashes.empty());
  EXPECT_TRUE(world().unwatched.empty());
}

TEST(SyncUse, ManagedMemory) {
  Timeline t(Stage::sync_use);
  void* memory = t.managed(kBytes);
  constexpr uint32_t kPlanned = 42;
  world().planned_stacks = {kPlanned};
  t.launch(kLegacy);
  t.synchronize(kLegacy);
  EXPECT_FALSE(t.guarded(memory));
  world().stack = kPlanned;
  auto planned = t.synchronize(kLegacy);
  EXPECT_TRUE(t.touch(memory));
  EXPECT_EQ(t.reasons(planned), kCpuAccess);
}

}  // namespace
}  // namespace diogenes::agent::testing
