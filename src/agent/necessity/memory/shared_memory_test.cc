// Managed memory, and pinned memory that kernels reach.
#include "agent/necessity/given_contents.h"
#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

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

// ---- what a kernel is given of it, and what it finds there ----

struct GivenShared : Necessity {
  uint64_t* one = static_cast<uint64_t*>(t.managed(kBytes));
  uint64_t* other = static_cast<uint64_t*>(t.managed(kBytes));
};

TEST_F(GivenShared, AKernelThatIsGivenOneLeavesTheOtherAlone) {
  t.launch(kX, {t.address(one)});
  auto wait = t.synchronize(kX);
  EXPECT_FALSE(t.touch(other));
  auto again = t.synchronize(kX);
  EXPECT_TRUE(t.touch(one));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(t.reasons(again), kCpuAccess);
}

TEST_F(GivenShared, UnlessItFindsItsAddressThere) {
  one[kBytes / 8 - 1] = t.address(other) + 64;
  t.launch(kX, {t.address(one)});
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.touch(other));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(GivenShared, OrInWhatItFinds) {
  auto* third = static_cast<uint64_t*>(t.pinned(kBytes, CU_MEMHOSTALLOC_DEVICEMAP));
  one[7] = t.address(third);
  third[512] = t.address(other);
  t.launch(kX, {t.address(one)});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(third));
  EXPECT_TRUE(t.guarded(other));
}

// A list's next node, put behind by the CPU between two launches.
TEST_F(GivenShared, OrSinceALaterLaunch) {
  t.launch(kX, {t.address(one)});
  t.synchronize(kX);
  EXPECT_FALSE(t.guarded(other));
  one[0] = t.address(other);
  t.launch(kX, {t.address(one)});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(other));
}

// What device memory points at was not looked for: it is known only that there is something.
TEST_F(GivenShared, OrDeviceMemoryThatLeadsOn) {
  uint64_t table = t.device(64), pointers[8] = {t.address(other)};
  t.h2d(table, pointers, sizeof pointers);
  one[0] = table;
  t.launch(kX, {t.address(one)});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(other));
}

TEST_F(GivenShared, WhatIsTooLargeToBeReadMayPointAnywhere) {
  void* large = t.managed(128 << 10);
  t.launch(kX, {t.address(large)});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(other));
}

// The first wait owns the first kernel's work. The CPU uses that while the second runs; the second wait
// covers other work of the stream, but not the second kernel.
TEST_F(GivenShared, AUseCountsForWhoCoversItsWork) {
  uint64_t device = t.device(kBytes);
  t.launch(kX, {t.address(one)});
  auto first = t.synchronize(kX);
  t.launch(kX, {device});
  t.record(kE, kX);
  t.launch(kX, {t.address(one)});
  EXPECT_TRUE(t.touch(one));
  auto second = t.synchronize_event(kE);
  EXPECT_FALSE(t.touch(one));
  auto third = t.synchronize(kX);
  EXPECT_TRUE(t.touch(one));
  EXPECT_EQ(t.reasons(first), kCpuAccess);
  EXPECT_EQ(t.reasons(second), kNotNeeded);
  EXPECT_EQ(t.reasons(third), kCpuAccess);
}

// A number that looks like an address, of memory that is not there.
TEST_F(GivenShared, ANumberLeadsNowhere) {
  void* gone = t.managed(kBytes);
  t.free_device(t.address(gone));
  one[0] = t.address(gone);
  const uint64_t device = t.device(kBytes);
  t.launch(kX, {t.address(one)});
  auto wait = t.synchronize(kX);
  t.launch(kY, {device});
  EXPECT_FALSE(t.guarded(other));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

// The GPU takes pages away with it.
struct PagesTaken : GivenShared {
  void launch_and_take() {
    t.launch(kX, {t.address(one)});
    t.synchronize(kX);
    t.touch(other);
    take();
  }
  void take() { ASSERT_EQ(madvise(one, kBytes, MADV_DONTNEED), 0); }
};

TEST_F(PagesTaken, WereReadBefore) {
  one[0] = 1;
  launch_and_take();
  t.launch(kX, {t.address(one)});
  t.synchronize(kX);
  EXPECT_FALSE(t.guarded(other));
}

TEST_F(PagesTaken, AnAddressWentWithThem) {
  one[0] = t.address(other);
  launch_and_take();
  t.launch(kX, {t.address(one)});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(other));
}

TEST_F(PagesTaken, ByAPrefetchTheyWereNotRead) {
  one[0] = t.address(other);
  t.call("cuMemPrefetchAsync", {t.address(one), kBytes, 0, kX});
  take();
  t.launch(kX, {t.address(one)});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(other));
}

TEST_F(PagesTaken, NorByAKernelOfUnknownArguments) {
  one[0] = t.address(other);
  t.launch(kY);
  take();
  t.synchronize(kY);
  t.touch(other);
  t.launch(kX, {t.address(one)});
  t.synchronize(kX);
  EXPECT_TRUE(t.guarded(other));
}

// 20 ms at once, and behind that a twentieth of the time.
TEST(Reading, HasAPartOfTheProgramsTime) {
  ReadingTime time{};
  const int64_t begin = 5'000'000'000;
  EXPECT_TRUE(time.is_left(begin));
  time.spend(20'000'000);
  EXPECT_TRUE(time.is_left(begin + 1));
  time.spend(10'000'000);
  EXPECT_FALSE(time.is_left(begin + 199'000'000));
  EXPECT_TRUE(time.is_left(begin + 200'000'000));
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
  // The unregistration waits for non-blocking streams, too: it owns the data.
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
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

}  // namespace
}  // namespace diogenes::agent::testing
