// Waits for all streams of a context of which one stream would do.
#include "analysis/necessity/judge/narrow_waits.h"

#include <gtest/gtest.h>

#include "analysis/necessity/judge_process.h"
#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::necessity {
namespace {

using namespace diogenes::testing;

constexpr uint64_t kDevice = 0x7000'0000, kFirst = 0x10'0000, kLast = 0x20'0000;

CallFacts download(int64_t begin, uint32_t stream, uint64_t host) {
  return {.begin = begin,
          .stream = stream,
          .operands = {operand(kDevice, 64, kReads, MemoryKind::device),
                       operand(host, 64, kWrites | kWhole, MemoryKind::pinned)},
          .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, 64)};
}

Evidence of_third_call(const Facts& facts) {
  TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_judged_run(folder.path(), sites);
  return run->processes.at(0).threads.at(0).evidence.at(2);
}

// Copies in two streams, a wait for both, and one result is read. The other one comes again, and is waited for by itself.
Evidence of_first_wait(uint64_t touched) {
  const uint64_t other = touched == kFirst ? kLast : kFirst;
  const uint32_t others = touched == kFirst ? 8 : 7;
  Facts facts;
  facts.stream(7).stream(8);
  facts.call("cuMemcpyDtoHAsync_v2", download(10, 7, kFirst))
      .call("cuMemcpyDtoHAsync_v2", download(25, 8, kLast));
  facts.watch(1, touched, 64, 52).watch(2, other, 64, 53);
  facts.call("cuCtxSynchronize", {.begin = 40, .after = 5, .flags = kWaited}).touch(1, 70);
  facts.call("cuMemcpyDtoHAsync_v2", download(75, others, other));
  facts.call("cuStreamSynchronize", {.begin = 90, .after = 5, .flags = kWaited, .stream = others})
      .touch(2, 120);
  return of_third_call(facts);
}

TEST(NarrowWaits, OnlyTheLastStreamsWorkIsNeeded) {
  const Evidence evidence = of_first_wait(kLast);
  EXPECT_TRUE(evidence.reasons & kCpuAccess);
  EXPECT_TRUE(evidence.conditions & kConditionOneStream);
}

TEST(NarrowWaits, AnotherStreamsWorkIsNeeded) {
  const Evidence evidence = of_first_wait(kFirst);
  EXPECT_TRUE(evidence.reasons & kCpuAccess);
  EXPECT_FALSE(evidence.conditions & kConditionOneStream);
}

// Kernels in two streams; a copy in the default stream waits for both, and brings what the first one wrote. The second one's
// memory is overwritten behind that, by the same thread or by another one, or is left alone.
enum class Second { alone, overwritten, by_another_thread };
Evidence of_copy(Second second) {
  constexpr uint64_t kOther = 0x7100'0000;
  const auto kernel = [](int64_t begin, uint32_t stream, uint64_t memory) {
    return CallFacts{.begin = begin,
                     .stream = stream,
                     .operands = {operand(memory, 64, kReads | kWrites | kArgument, MemoryKind::device)}};
  };
  CallFacts copy = download(50, kLegacyStream, kFirst);
  copy.flags = kWaited;
  copy.after = 5;
  copy.operands[1] = operand(kFirst, 64, kWrites | kWhole, MemoryKind::pinned);
  Facts facts;
  facts.stream(7).stream(8);
  facts.call("cuLaunchKernel", kernel(10, 7, kDevice)).call("cuLaunchKernel", kernel(30, 8, kOther));
  facts.watch(1, kFirst, 64, 52);
  facts.call("cuMemcpyDtoH_v2", copy).touch(1, 80);
  if (second != Second::alone) {
    if (second == Second::by_another_thread) facts.on(1);
    CallFacts again = kernel(100, 9, kOther);
    facts.stream(9, kCertainStream).call("cuLaunchKernel", again);
  }
  return of_third_call(facts);
}

TEST(NarrowWaits, ACopyIsNeededOfTheStreamThatWroteItsSource) {
  const Evidence evidence = of_copy(Second::alone);
  EXPECT_TRUE(evidence.reasons & kCpuAccess);
  EXPECT_TRUE(evidence.conditions & kConditionOneStream);
  EXPECT_EQ(evidence.like.sequence, 0u);  // the first kernel
}

TEST(NarrowWaits, ACopyKeepsAnotherStreamsWorkApart) {
  EXPECT_FALSE(of_copy(Second::overwritten).conditions & kConditionOneStream);
}

TEST(NarrowWaits, ACopyBesideAnotherThreadsWorkStaysWhereItIs) {
  EXPECT_FALSE(of_copy(Second::by_another_thread).conditions & kConditionOneStream);
}

// A kernel in one stream; a wait for it; a kernel in another stream, of the same thread or of another, reads what it wrote. What
// else uses it: nothing, or the CPU.
enum class Later { kernel, kernel_and_cpu, kernel_of_another_thread };
Evidence of_wait_between(Later later) {
  const auto kernel = [](int64_t begin, uint32_t stream, unsigned access) {
    return CallFacts{.begin = begin,
                     .stream = stream,
                     .operands = {operand(kDevice, 64, access | kArgument, MemoryKind::device)}};
  };
  Facts facts;
  facts.stream(7, kCertainStream).stream(8, kCertainStream);
  const bool read = later == Later::kernel_and_cpu;
  facts.call("cuLaunchKernel", kernel(10, 7, kWrites))
      .call(read ? "cuMemcpyDtoHAsync_v2" : "cuLaunchKernel",
            read ? download(30, 7, kFirst) : kernel(30, 7, kReads));
  if (read) facts.watch(1, kFirst, 64, 52);
  facts.call("cuStreamSynchronize", {.begin = 50, .after = 5, .flags = kWaited, .stream = 7});
  if (read) facts.touch(1, 70);
  if (later == Later::kernel_of_another_thread) facts.on(1);
  facts.call("cuLaunchKernel", kernel(80, 8, kWrites));
  return of_third_call(facts);
}

TEST(NarrowWaits, TheGpuCanWaitForWhatItAloneUses) {
  const Evidence evidence = of_wait_between(Later::kernel);
  EXPECT_EQ(evidence.reasons, kOrder);
  EXPECT_TRUE(evidence.conditions & kConditionOnlyOrders);
}

TEST(NarrowWaits, TheGpuCannotWaitForTheCpu) {
  EXPECT_FALSE(of_wait_between(Later::kernel_and_cpu).conditions & kConditionOnlyOrders);
}

TEST(NarrowWaits, WhatAnotherThreadGivesDoesNotWait) {
  EXPECT_FALSE(of_wait_between(Later::kernel_of_another_thread).conditions & kConditionOnlyOrders);
}

}  // namespace
}  // namespace diogenes::necessity
