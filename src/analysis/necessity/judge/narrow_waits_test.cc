// A wait for the context of which the thread's last stream would do.
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

// Copies in two streams, a wait for both of them, what `touched` says is read, a second wait, and the rest is read.
Evidence of_first_wait(uint64_t touched) {
  Facts facts;
  facts.stream(7).stream(8);
  facts.call("cuMemcpyDtoHAsync_v2", download(10, 7, kFirst))
      .call("cuMemcpyDtoHAsync_v2", download(25, 8, kLast));
  facts.watch(1, kFirst, 64, 52).watch(2, kLast, 64, 53);
  facts.call("cuCtxSynchronize", {.begin = 40, .after = 5, .flags = kWaited});
  facts.touch(touched == kFirst ? 1 : 2, 70);
  facts.call("cuCtxSynchronize", {.begin = 80, .after = 5, .flags = kWaited});
  facts.touch(touched == kFirst ? 2 : 1, 110);
  TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_judged_run(folder.path(), sites);
  return run->processes.at(0).threads.at(0).evidence.at(2);
}

TEST(NarrowWaits, OnlyTheLastStreamsWorkIsNeeded) {
  const Evidence evidence = of_first_wait(kLast);
  EXPECT_EQ(evidence.reasons, uint32_t{kCpuAccess});
  EXPECT_TRUE(evidence.conditions & kConditionOneStream);
}

TEST(NarrowWaits, AnotherStreamsWorkIsNeeded) {
  const Evidence evidence = of_first_wait(kFirst);
  EXPECT_EQ(evidence.reasons, uint32_t{kCpuAccess});
  EXPECT_FALSE(evidence.conditions & kConditionOneStream);
}

}  // namespace
}  // namespace diogenes::necessity
