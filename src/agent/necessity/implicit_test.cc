// Implicit waits, capture, and stage 4.
#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

// ---- implicit waits ----

TEST_F(Necessity, FreeCoversTheContext) {
  uint64_t memory = t.device(64);
  void* host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto release = t.free_device(memory);
  t.touch(host);
  EXPECT_EQ(t.reasons(release), kCpuAccess);
}

// Measured: it waits for non-blocking streams, too. So the wait before it is the needless one of two.
TEST_F(Necessity, ReleaseOfPinnedMemoryCoversNonBlockingStreams) {
  void *other = t.pinned(kBytes), *host = t.pinned(kBytes);
  t.d2h_async(host, kDevice, kBytes, kX);
  auto wait = t.synchronize(kX);
  auto release = t.free_host(other);
  t.touch(host);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(t.reasons(release), kCpuAccess);
}

TEST_F(Necessity, ReleaseUnderACopyRestsOnThat) {
  void *destination = t.pinned(kBytes), *source = t.pinned(kBytes), *waited_for = t.pinned(kBytes);
  t.d2h_async(waited_for, kDevice, kBytes, kX);
  t.synchronize(kX);
  t.d2h_async(destination, kDevice, kBytes, kX);
  t.h2d_async(kDevice, source, kBytes, kX);
  // Each release waits for all.
  auto late = t.free_host(destination), second = t.free_host(source), third = t.free_host(waited_for);
  EXPECT_EQ(t.verdict(late)->conditions & kConditionInUse, kConditionInUse);
  EXPECT_EQ(t.verdict(second)->conditions & kConditionInUse, 0);
  EXPECT_EQ(t.verdict(third)->conditions & kConditionInUse, 0);
}

TEST_F(Necessity, ReleaseUnderACopyFromItRestsOnThat) {
  void* source = t.pinned(kBytes);
  t.h2d_async(kDevice, source, kBytes, kX);
  auto release = t.free_host(source);
  EXPECT_EQ(t.reasons(release), kNotNeeded);
  EXPECT_EQ(t.verdict(release)->conditions, kConditionInUse);
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
