// Clause 3: order between streams, events, default streams, contexts, and threads that overlap.
#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

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
  EXPECT_EQ(t.reasons(copy), kCpuAccess);
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

}  // namespace
}  // namespace diogenes::agent::testing
