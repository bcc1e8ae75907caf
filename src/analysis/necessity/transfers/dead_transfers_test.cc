// Data that nothing on the GPU used, and memory: each way of losing it, and what must not be taken for one.
#include "analysis/necessity/transfers/dead_transfers.h"

#include <gtest/gtest.h>

#include "analysis/necessity/testing/copying_program.h"

namespace diogenes::necessity {
namespace {

using namespace testing;

struct Upload : ::testing::Test, Program {};

TEST_F(Upload, OverwrittenByAnotherCopy) {
  auto first = upload(), second = upload();
  launch(kLegacyStream, kDevice);
  synchronize();
  EXPECT_EQ(unused(first), Unused::overwritten);
  EXPECT_EQ(unused(second), Unused::no);
  EXPECT_EQ(judged()[first].lost_by.sequence, second);
  EXPECT_EQ(judged()[first].conditions, kConditionArguments);
}

TEST_F(Upload, OverwrittenByAFill) {
  auto copy = upload();
  fill();
  synchronize();
  EXPECT_EQ(unused(copy), Unused::overwritten);
  EXPECT_EQ(judged()[copy].conditions, 0);
}

TEST_F(Upload, Released) {
  auto copy = upload(), release = free();
  EXPECT_EQ(unused(copy), Unused::released);
  EXPECT_EQ(judged()[copy].lost_by.sequence, release);
}

TEST_F(Upload, AnyKernelMayHaveReadIt) {
  auto copy = upload();
  launch_anything(kX);
  upload();
  free();
  EXPECT_EQ(unused(copy), Unused::no);
}

TEST_F(Upload, KernelsReadWhatTheyAreGiven) {
  auto given = upload();
  launch(kX, kDevice);
  synchronize(kX);
  auto beside = upload();
  launch(kX, kOther);
  upload();
  synchronize();
  EXPECT_EQ(unused(given), Unused::no);
  EXPECT_EQ(unused(beside), Unused::overwritten);
  EXPECT_EQ(judged()[beside].conditions, kConditionArguments);
}

// A kernel of another stream that runs already: only what it was given counts.
TEST_F(Upload, BesideARunningKernelThatHasItOrNot) {
  launch(kX, kDevice);
  auto beside = upload();
  upload();
  synchronize(kX);
  launch(kX, kOther);
  auto apart = upload();
  upload();
  synchronize();
  EXPECT_EQ(unused(beside), Unused::no);
  EXPECT_EQ(unused(apart), Unused::overwritten);
}

TEST_F(Upload, CopiedFromThere) {
  auto on_device = upload();
  copy_to_other();
  auto to_host = upload();
  download_unwatched(16);
  auto unrelated = upload();
  free();
  EXPECT_EQ(unused(on_device), Unused::no);
  EXPECT_EQ(unused(to_host), Unused::no);
  EXPECT_EQ(unused(unrelated), Unused::released);
}

TEST_F(Upload, OverwrittenInPartIsStillThere) {
  auto copy = upload();
  fill(kBytes - 1);
  synchronize();
  EXPECT_EQ(unused(copy), Unused::no);
}

// The overwriting copy is on its way when a kernel starts on another stream: it may be earlier.
TEST_F(Upload, KernelThatMayRunBeforeTheOverwriting) {
  auto first = upload_async(kX);
  upload_async(kX);
  launch(kY, kDevice);
  synchronize(kX);
  synchronize(kY);
  EXPECT_EQ(unused(first), Unused::no);
}

TEST_F(Upload, KernelBehindTheOverwriting) {
  auto first = upload_async(kX);
  upload_async(kX);
  call("cuEventRecord", {.stream = kX, .object = kEvent});
  call("cuStreamWaitEvent", {.stream = kY, .object = kEvent});
  launch(kY, kDevice);
  synchronize(kX);
  EXPECT_EQ(unused(first), Unused::overwritten);
}

TEST_F(Upload, TwoCopiesInNoOrder) {
  auto first = upload_async(kX);
  upload_async(kY);
  synchronize(kX);
  synchronize(kY);
  EXPECT_EQ(unused(first), Unused::no);
}

TEST_F(Upload, NeverKnownToBeOverwritten) {
  auto first = upload_async(kX);
  upload_async(kX);
  EXPECT_EQ(unused(first), Unused::no);
}

TEST_F(Upload, MemoryThatOtherProcessesReach) {
  auto copy = upload();
  call("cuIpcGetMemHandle", {.call_flags = kSharesMemory});
  upload();
  upload();
  free();
  for (const Evidence& each : judged()) EXPECT_EQ(each.unused, Unused::no);
  (void)copy;
}

TEST_F(Upload, ReleasedInTheStreamsOrder) {
  constexpr uint64_t kPool = 0x7200'0000;
  call("cuMemAllocAsync", {.stream = kX, .call_flags = kGivesWork, .allocation = allocated(kPool, kBytes)});
  auto copy =
      call("cuMemcpyHtoDAsync_v2", {.stream = kX,
                                    .operands = {operand(kPool, kBytes, kWrites | kWhole, MemoryKind::device),
                                                 operand(kPinned, kBytes, kReads, MemoryKind::pinned)},
                                    .transfer = transfer_of(MemoryKind::device, MemoryKind::pinned, kBytes)});
  call("cuMemFreeAsync", {.stream = kX, .call_flags = kGivesWork, .allocation = released(kPool)});
  synchronize(kX);
  EXPECT_EQ(unused(copy), Unused::overwritten);
}

TEST_F(Upload, ToMemoryThatNobodyWasSeenToAllocate) {
  free();
  auto copy = upload();
  upload();
  synchronize();
  EXPECT_EQ(unused(copy), Unused::no);
}

TEST_F(Upload, ToManagedMemory) {
  constexpr uint64_t kManaged = 0x30'0000;
  call("cuMemAllocManaged", {.allocation = allocated(kManaged, kBytes, MemoryKind::managed)});
  CallFacts copy{.flags = kWaited,
                 .stream = kLegacyStream,
                 .operands = {operand(kManaged, kBytes, kWrites | kWhole, MemoryKind::managed)},
                 .transfer = transfer_of(MemoryKind::managed, MemoryKind::pageable, kBytes)};
  auto first = call("cuMemcpyHtoD_v2", copy);
  call("cuMemcpyHtoD_v2", copy);
  synchronize();
  EXPECT_EQ(unused(first), Unused::no);
}

struct Memory : ::testing::Test, Program {};

TEST_F(Memory, ReleasedWithoutAnyAccess) {
  upload();
  auto release = free(kOther);
  auto all = judged();
  EXPECT_EQ(all[1].unused, Unused::released);
  EXPECT_EQ(all[1].lost_by.sequence, release);
  EXPECT_EQ(all[0].unused, Unused::no);
}

TEST_F(Memory, WrittenOrWithinReachOfAKernel) {
  fill(8);
  launch_anything(kX);
  free(kDevice);
  free(kOther);
  auto all = judged();
  EXPECT_EQ(all[0].unused, Unused::no);
  EXPECT_EQ(all[1].unused, Unused::no);
}

TEST_F(Memory, MadeWhileAKernelRuns) {
  constexpr uint64_t kNew = 0x7300'0000;
  launch_anything(kX);
  auto made = call("cuMemAlloc_v2", {.allocation = allocated(kNew, kBytes)});
  free(kNew);
  EXPECT_EQ(unused(made), Unused::no);
}

}  // namespace
}  // namespace diogenes::necessity
