// From a process folder with facts to the evidence of its operations.
#include "analysis/necessity/judge_process.h"

#include <gtest/gtest.h>

#include "trace/testing/facts_builder.h"
#include "trace/testing/trace_builder.h"

namespace diogenes::necessity {
namespace {

using namespace diogenes::testing;

constexpr uint64_t kDevice = 0x7000'0000, kHost = 0x10'0000;

CallFacts download(int64_t begin) {
  return {.begin = begin,
          .stream = kLegacyStream,
          .operands = {operand(kDevice, 64, kReads, MemoryKind::device),
                       operand(kHost, 64, kWrites | kWhole, MemoryKind::pinned)},
          .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, 64)};
}

std::vector<Evidence> evidence(const Facts& facts) {
  TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_run(folder.path(), sites, Load::evidence);
  EXPECT_EQ(run->judgement.withdrawn, 0u);
  return run->processes.at(0).threads.at(0).evidence;
}

// Copy, wait at [30, 40], the program goes on at 45, and reads the result at 60.
TEST(JudgeProcess, AWaitWhoseDataIsReadIsNeeded) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.watch(1, kHost, 64, 42);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited}).touch(1, 60);
  auto judged = evidence(facts);
  EXPECT_FALSE(judged[0].judged);
  EXPECT_TRUE(judged[1].judged);
  EXPECT_EQ(judged[1].reasons, uint32_t{kCpuAccess});
  EXPECT_EQ(judged[1].after_ns, 15);
}

TEST(JudgeProcess, AWaitWhoseDataNobodyTouchedIsNotNeeded) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.watch(1, kHost, 64, 42);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
  auto judged = evidence(facts);
  EXPECT_TRUE(judged[1].judged);
  EXPECT_EQ(judged[1].reasons, 0u);
  EXPECT_EQ(judged[0].unused, Unused::released);
}

// What came after it is not known.
TEST(JudgeProcess, AKilledProcessNeededIt) {
  Facts facts;
  facts.call("cuMemcpyDtoHAsync_v2", download(10));
  facts.watch(1, kHost, 64, 42).ends(ProcessEnd::signal);
  facts.call("cuCtxSynchronize", {.begin = 30, .after = 5, .flags = kWaited});
  EXPECT_TRUE(evidence(facts)[1].reasons & kUnresolved);
}

TEST(JudgeProcess, WithoutFactsTheTracesVerdictsHold) {
  TemporaryFolder folder;
  auto trace = timeline().sync(lasting(5)).first_use(after(3)).sync(lasting(5)).unnecessary();
  write_process(folder.path(), trace, {.stage = Stage::memory_tracing});
  SiteTable sites;
  auto run = load_run(folder.path(), sites, Load::evidence);
  const auto& judged = run->processes.at(0).threads.at(0).evidence;
  EXPECT_EQ(judged[0].reasons, uint32_t{kCpuAccess});
  EXPECT_EQ(judged[0].after_ns, 3000);
  EXPECT_EQ(judged[1].reasons, 0u);
}

}  // namespace
}  // namespace diogenes::necessity
