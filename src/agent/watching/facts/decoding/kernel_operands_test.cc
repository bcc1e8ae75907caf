// What a kernel is recorded to read and write: the memory that it is given, and what that leads to.
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/watching/facts/testing/collected_program.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kBytes = 8192;

struct Kernels : ::testing::Test, Program {
  const uint64_t a = device(kBytes), b = device(kBytes);
};

TEST_F(Kernels, ReachTheAllocationsOfTheirArguments) {
  const Recorded launched = launch(kStream, {a + 100, 5});  // somewhere inside; a number
  ASSERT_EQ(launched.operands.size(), 1u);
  EXPECT_EQ(launched.operands[0].begin, a);
  EXPECT_EQ(launched.operands[0].bytes, kBytes);
  EXPECT_EQ(launched.operands[0].flags, kReads | kWrites | kArgument);
  EXPECT_EQ(launched.flags, uint32_t{kHasKernel});
}

TEST_F(Kernels, AnArrayThatIsCountedFromOne) {
  const uint64_t lowest = std::min(a, b);
  EXPECT_NE(launch(kStream, {lowest - 4}).operand(lowest), nullptr);
}

TEST_F(Kernels, WithoutMemoryMayReachAny) {
  EXPECT_NE(launch(kStream).flags & kAnyDevice, 0u);
  EXPECT_NE(launch(kStream, {7}).flags & kAnyDevice, 0u);
}

TEST_F(Kernels, WhoseParametersTheDriverDoesNotTell) {
  void* parameters[] = {const_cast<uint64_t*>(&a)};
  const Recorded launched =
      call("cuLaunchKernel", {0xbad, 1, 1, 1, 1, 1, 1, 0, kStream, address(parameters), 0});
  EXPECT_NE(launched.flags & kAnyDevice, 0u);
}

TEST_F(Kernels, ABufferOfParameters) {
  uint64_t buffer[] = {1, a};
  size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  const Recorded launched = call("cuLaunchKernel", {0xf00, 1, 1, 1, 1, 1, 1, 0, kStream, 0, address(extra)});
  EXPECT_NE(launched.operand(a), nullptr);
  EXPECT_EQ(launched.flags & kAnyDevice, 0u);
}

TEST_F(Kernels, GivenMemoryThatHoldsAnAddressMayReachAny) {
  uint64_t pointers[8] = {0, 0, 0, b + 8};
  h2d(a, pointers, sizeof pointers);
  EXPECT_NE(launch(kStream, {a}).flags & kAnyDevice, 0u);
}

TEST_F(Kernels, PinnedMemoryThatIsGivenIsWatched) {
  void *given = pinned(kBytes), *other = pinned(kBytes);
  launch(kStream, {a, address(given) + 128});
  synchronize(kStream);
  EXPECT_TRUE(is_guarded(given));
  EXPECT_FALSE(is_guarded(other));
}

// Its address may have been kept in device memory.
TEST_F(Kernels, PinnedMemoryThatWasGivenOnceIsReachedByThoseWithoutMemory) {
  void* given = pinned(kBytes);
  launch(kStream, {address(given)});
  const Recorded launched = launch(kStream);
  const OperandRecord* reached = launched.operand(address(given));
  ASSERT_NE(reached, nullptr);
  EXPECT_NE(reached->flags & kReached, 0);
}

TEST_F(Kernels, ManagedMemoryIsReachedWithoutBeingGiven) {
  void* memory = managed(kBytes);
  EXPECT_NE(launch(kStream).operand(address(memory)), nullptr);
  call("cuMemFree_v2", {address(memory)}, true);
  EXPECT_EQ(launch(kStream).operand(address(memory)), nullptr);
}

TEST_F(Kernels, MoreMemoryThanOneLaunchCanName) {
  std::vector<uint64_t> many;
  for (int i = 0; i < 200; ++i) many.push_back(device(64));
  // A kernel has 31 parameters here at most: it gets them in a buffer.
  size_t bytes = many.size() * 8;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, many.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  const Recorded launched = call("cuLaunchKernel", {0xf00, 1, 1, 1, 1, 1, 1, 0, kStream, 0, address(extra)});
  EXPECT_NE(launched.flags & kAnyDevice, 0u);
}

TEST_F(Kernels, OnADeviceThatReadsPageTablesReachAll) {
  world().page_tables = 1;
  world().context = 0x200;
  EXPECT_NE(launch(kStream, {a}).flags & kAnyPageable, 0u);
}

TEST_F(Kernels, HostFunctionsReachWhatTheyLike) {
  const Recorded launched = call("cuLaunchHostFunc", {kStream, 0x1, 0});
  EXPECT_EQ(launched.flags, uint32_t{kAnyDevice | kAnyHost | kAnyPageable | kRunsOnHost});
}

TEST_F(Kernels, CapturedCallsDoNothingAndAskNothing) {
  const int before = world().driver_calls;
  const Recorded captured =
      call("cuMemcpyDtoHAsync_v2", {address(pageable(kBytes)), a, kBytes, kStream}, false, 0, kCapturing);
  EXPECT_EQ(captured.call.operands, 0u);
  EXPECT_EQ(captured.call.flags & kGivesWork, 0);
  EXPECT_EQ(world().driver_calls, before);
}

TEST_F(Kernels, AFailedCallHasNoOperands) {
  void* host = pinned(kBytes);
  const Recorded failed = call("cuMemcpyDtoHAsync_v2", {address(host), a, kBytes, kStream}, false, 1);
  EXPECT_EQ(failed.call.operands, 0u);
  synchronize(kStream);
  EXPECT_FALSE(is_guarded(host));
}

TEST_F(Kernels, TooManyAllocationsAreCountedAndMayBeAnything) {
  uint64_t memory = 1ull << 40;
  for (int i = 0; world().drops[Drop::objects_full] == 0; ++i, memory += 4096) {
    ASSERT_LT(i, 1 << 20);
    uint64_t made = memory;
    call("cuMemAlloc_v2", {address(&made), 64});
  }
  EXPECT_NE(launch(kStream, {a}).flags & kAnyDevice, 0u);
}

}  // namespace
}  // namespace diogenes::agent::testing
