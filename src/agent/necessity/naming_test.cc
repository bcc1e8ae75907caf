// Clause 3 with arguments: work of two streams needs an order only where both name the same allocation.
#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

struct Naming : Necessity {
  uint64_t a = 0, b = 0, c = 0;
  void SetUp() override {
    Necessity::SetUp();
    a = t.device(kBytes), b = t.device(kBytes), c = t.device(kBytes);
  }
  uint8_t conditions(Operation operation) { return t.verdict(operation)->conditions; }
};

TEST_F(Naming, KernelsOnDifferentMemoryNeedNoOrderButThatIsACondition) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.launch(kY, {b});
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(conditions(wait), kConditionArguments);
}

TEST_F(Naming, KernelsOnTheSameMemory) {
  t.launch(kX, {a, b});
  auto wait = t.synchronize(kX);
  t.launch(kY, {c, b + 100});  // somewhere inside
  EXPECT_EQ(t.reasons(wait), kOrder);
}

// What was not needed for one launch is still what orders a later one.
TEST_F(Naming, TheOrderIsNotTakenForGrantedAfterUnrelatedWork) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.launch(kY, {b});
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, NorInAThirdStreamThatIsOrderedBehindTheUnrelatedWork) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.launch(kY, {b});
  t.record(kE, kY);
  t.wait(kZ, kE);
  t.launch(kZ, {a});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, EarlierWorkOfTheStreamCounts) {
  t.launch(kX, {a});
  for (int i = 0; i < 100; ++i) t.launch(kX, {b});
  auto wait = t.synchronize(kX);
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, TheWaitForTheSharedPartIsTheOneThatOrders) {
  t.launch(kX, {a});
  auto first = t.synchronize(kX);
  t.launch(kX, {b});
  auto second = t.synchronize(kX);
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(first), kNotNeeded);  // the second covers it, too
  EXPECT_EQ(t.reasons(second), kOrder);
}

TEST_F(Naming, WhatTheGpuOrdersNeedsNoWait) {
  t.launch(kX, {a});
  t.record(kE, kX);
  t.launch(kX, {b});
  t.wait(kY, kE);
  auto wait = t.synchronize(kX);
  t.launch(kY, {a});  // b's launch is all that the wait orders before it
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(conditions(wait), kConditionArguments);
}

TEST_F(Naming, CopiesThatBothReadAndNoKernel) {
  void *one = t.pinned(kBytes), *other = t.pinned(kBytes);
  t.d2h_async(one, a, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.d2h_async(other, a, kBytes, kY);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(conditions(wait), 0);
}

TEST_F(Naming, ACopyThatOverwritesWhatWasRead) {
  void* one = t.pinned(kBytes);
  t.d2h_async(one, a, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.call("cuMemsetD8Async", {a, 0, 16, kY});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, HostMemoryIsNamedToo) {
  void* host = t.pinned(kBytes);
  t.h2d_async(a, host, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.d2h_async(host, b, kBytes, kY);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

// The wait inside the first: without it, it would come behind the second.
TEST_F(Naming, TwoCopiesToTheSamePageableMemory) {
  char* host = static_cast<char*>(t.pageable(64 * kBytes));
  uint64_t large = t.device(40 * kBytes);
  auto small = t.d2h_async(host + kBytes, a, 32, kX, true);
  auto beside = t.d2h_async(host + kBytes + 128, a, 32, kY, true);
  auto other_page = t.d2h_async(host, b, kBytes, kZ, true);
  auto both = t.d2h_async(host + kBytes - 8, c, 16, kY, true);
  t.d2h_async(host, large, 40 * kBytes, kX, true);
  EXPECT_EQ(t.reasons(small) & kOrder, uint32_t{kOrder});
  EXPECT_EQ(t.reasons(beside) & kOrder, 0u);  // the next wait of its stream covers it
  EXPECT_EQ(t.reasons(other_page) & kOrder, uint32_t{kOrder});
  EXPECT_EQ(t.reasons(both) & kOrder, uint32_t{kOrder});
}

TEST_F(Naming, APageableSourceIsReadWhenTheCallReturns) {
  char* host = static_cast<char*>(t.pageable(2 * kBytes));
  t.h2d_async(a, host, kBytes, kX);
  auto wait = t.synchronize(kX);
  t.d2h_async(host, b, kBytes, kY, true);
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Naming, AKernelThatNamesNoMemoryMayReachAny) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.launch(kY, {5});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, AnAddressOfMemoryThatIsNotKnown) {
  uint64_t low = 0x10'0000'0000, high = 0x10'0010'0000;
  t.call("cuMemAlloc_v2", {t.address(&low), kBytes});
  t.call("cuMemAlloc_v2", {t.address(&high), kBytes});
  t.launch(kX, {low});
  auto wait = t.synchronize(kX);
  t.launch(kY, {high, 0x10'0008'0000});  // between them
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, AnArrayThatIsCountedFromOne) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.launch(kY, {a - 4});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, ParametersThatTheDriverDoesNotTell) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  uint64_t parameter = b;
  void* parameters[] = {&parameter};
  t.call("cuLaunchKernel", {0xbad, 1, 1, 1, 1, 1, 1, 0, kY, t.address(parameters), 0});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, ABufferOfParameters) {
  struct {
    uint32_t count;
    uint64_t pointer;
  } buffer{1, a};
  size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.call("cuLaunchKernel", {0xbad, 1, 1, 1, 1, 1, 1, 0, kY, 0, t.address(extra)});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

// A table of addresses on the device: a kernel that is given it reaches what they name.
TEST_F(Naming, AddressesThatWereCopiedToTheDevice) {
  uint64_t* table = static_cast<uint64_t*>(t.pinned(kBytes));
  table[17] = a + 8;
  t.h2d(b, table, kBytes);
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.launch(kY, {b});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, AndThoseThatAKernelMayHavePassedOn) {
  uint64_t* table = static_cast<uint64_t*>(t.pinned(kBytes));
  table[17] = a + 8;
  t.h2d(b, table, kBytes);
  t.launch(kY, {b, c});
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.launch(kZ, {c});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, VariablesOfAModuleAreEveryKernels) {
  uint64_t found = t.device(kBytes), bytes = 64;
  world().pointers[found] = {CU_MEMORYTYPE_DEVICE, false};
  t.launch(kX, {a});
  auto before = t.synchronize(kX);
  t.launch(kY, {b});
  t.call("cuModuleGetGlobal_v2", {t.address(&found), t.address(&bytes), 0x1, 0});
  t.launch(kX, {a});
  auto behind = t.synchronize(kX);
  t.launch(kZ, {b});
  EXPECT_EQ(t.reasons(before), kNotNeeded);
  EXPECT_EQ(t.reasons(behind), kOrder);
}

TEST_F(Naming, TexturesAreReachedWithoutAnAddress) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.call("cuTexObjectCreate", {0, 0, 0, 0});
  t.launch(kY, {b});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, StreamOrderedMemoryIsThereBehindItsAllocation) {
  uint64_t made = t.address(t.pageable(kBytes));
  t.call("cuMemAllocAsync", {t.address(&made), kBytes, kX});
  auto wait = t.synchronize(kX);
  t.launch(kY, {b});
  t.launch(kZ, {made});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, StreamOrderedMemoryIsFreedBehindItsUse) {
  uint64_t made = t.address(t.pageable(kBytes));
  t.call("cuMemAllocAsync", {t.address(&made), kBytes, kX});
  t.launch(kX, {made});
  auto wait = t.synchronize(kX);
  t.call("cuMemFreeAsync", {made, kY});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, AHostFunctionReachesWhatItLikes) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.call("cuLaunchHostFunc", {kY, 0x1, 0});
  t.synchronize(kY);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, MoreMemoryThanOneLaunchCanName) {
  std::vector<uint64_t> many;
  for (int i = 0; i < 65; ++i) many.push_back(t.device(kBytes));
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  t.launch(kY, many);
  EXPECT_EQ(t.reasons(wait), kOrder);
}

// More allocations than names, and many that come and go: no conflict is lost.
TEST_F(Naming, AllocationsThatComeAndGo) {
  t.launch(kX, {a});
  for (uint64_t i = 0; i < 3 * 2048; ++i) {
    uint64_t made = 0x10'0000'0000 + i * 0x10000;
    t.call("cuMemAlloc_v2", {t.address(&made), kBytes});
    t.call("cuMemFree_v2", {made});
  }
  for (uint64_t i = 0; i < 2 * 2048; ++i) {
    uint64_t made = 0x20'0000'0000 + i * 0x10000;
    t.call("cuMemAlloc_v2", {t.address(&made), kBytes});
  }
  auto wait = t.synchronize(kX);
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, AManagedVariableWhoseSizeIsNotAskedFor) {
  char* variable = static_cast<char*>(t.pageable(kBytes));
  uint64_t found = t.address(variable);
  world().pointers[found] = {CU_MEMORYTYPE_DEVICE, true};
  t.call("cuModuleGetGlobal_v2", {t.address(&found), 0, 0x1, 0});
  t.launch(kX, {a});
  auto first = t.synchronize(kX);
  EXPECT_TRUE(t.touch(variable));
  t.launch(kX, {a});
  auto second = t.synchronize(kX);
  EXPECT_EQ(t.reasons(first), kCpuAccess);
  EXPECT_EQ(t.reasons(second), kNotNeeded);
}

// A query said that the later launch is done; what the wait covered was other memory.
TEST_F(Naming, WorkThatNobodyWaitedForIsNotThatOfAnEarlierWait) {
  t.launch(kX, {b});
  auto wait = t.synchronize(kX);
  t.launch(kX, {a});
  t.call("cuStreamQuery", {kX});
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
}

TEST_F(Naming, ButOnlyAsFarBackAsIsKept) {
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  for (int i = 0; i < 4; ++i) t.launch(kX, {a});
  t.call("cuStreamQuery", {kX});
  t.launch(kY, {a});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, MorePageableMemoryThanIsKept) {
  char* host = static_cast<char*>(t.pageable(64 * kBytes));
  for (int i = 0; i < 40; ++i) t.d2h_async(host + i * 32, a, 32, kX, true);
  auto last = t.d2h_async(host + 40 * 32, a, 32, kX, true);
  t.d2h_async(host, b, 32, kY, true);
  EXPECT_EQ(t.reasons(last) & kOrder, uint32_t{kOrder});
}

// ---- memory that kernels share with the host ----

TEST_F(Naming, AKernelOnDeviceMemoryAloneDoesNotWriteManagedMemory) {
  char* managed = static_cast<char*>(t.managed(kBytes));
  t.launch(kX, {a});
  auto wait = t.synchronize(kX);
  EXPECT_FALSE(t.guarded(managed));
  EXPECT_EQ(t.reasons(wait), kNotNeeded);
  EXPECT_EQ(conditions(wait), kConditionArguments);
}

TEST_F(Naming, AVariableThatHoldsAnAddressLeadsEveryKernelThere) {
  uint64_t found = t.device(kBytes), bytes = 64;
  world().pointers[found] = {CU_MEMORYTYPE_DEVICE, false};
  t.call("cuModuleGetGlobal_v2", {t.address(&found), t.address(&bytes), 0x1, 0});
  auto* address = static_cast<uint64_t*>(t.pageable(64));
  *address = a;
  t.h2d(found, address, 8);
  t.call("cuMemsetD8Async", {a, 0, 16, kX});
  auto wait = t.synchronize(kX);
  t.launch(kY, {b});
  EXPECT_EQ(t.reasons(wait), kOrder);
}

TEST_F(Naming, AKernelOfUnknownArgumentsMayWriteAllOfIt) {
  char* memory = static_cast<char*>(t.managed(kBytes));
  t.call("cuLaunchKernel", {0xbad, 1, 1, 1, 1, 1, 1, 0, kX, t.address(&memory), 0});
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.touch(memory));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
  EXPECT_EQ(conditions(wait), 0);
}

TEST_F(Naming, PinnedMemoryThatIsFoundThroughATable) {
  char* mapped = static_cast<char*>(t.pinned(kBytes, CU_MEMHOSTALLOC_DEVICEMAP));
  auto* table = static_cast<uint64_t*>(t.pageable(kBytes));
  table[5] = t.address(mapped);
  t.h2d(b, table, kBytes);
  t.launch(kX, {b});
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.touch(mapped));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

}  // namespace
}  // namespace diogenes::agent::testing
