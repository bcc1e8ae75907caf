// Staging memory that is allocated in each turn: what a wait is worth once it is allocated once.
#include "analysis/necessity/judge/reused_memory.h"

#include <gtest/gtest.h>

#include "analysis/necessity/judge_process.h"
#include "analysis/necessity/testing/event_text.h"
#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes::necessity {
namespace {

using namespace diogenes::testing;

constexpr uint64_t kDevice = 0x7000'0000, kHost = 0x10'0000;

// One turn of 100 ns: memory is allocated, the GPU reads it for a kernel of the other memory, a wait, the release.
void turn(Facts& facts, int64_t begin, uint64_t address, MemoryKind kind, bool waits) {
  const bool host = kind == MemoryKind::pinned;
  facts.call(host ? "cuMemAllocHost_v2" : "cuMemAlloc_v2",
             {.begin = begin, .allocation = allocated(address, 64, kind)});
  facts.call(host ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyDtoDAsync_v2",
             {.begin = begin + 20,
              .stream = kLegacyStream,
              .operands = {operand(address, 64, kReads, kind),
                           operand(kDevice, 64, kWrites | kWhole, MemoryKind::device)},
              .transfer = transfer_of(MemoryKind::device, kind, 64)});
  if (waits) {
    const uint32_t watch = 1 + static_cast<uint32_t>(begin);
    if (host) facts.watch(watch, address, 64, begin + 48, {}, WatchProtection::read_only);
    facts.call("cuStreamSynchronize", {.begin = begin + 40, .flags = kWaited, .stream = kLegacyStream});
    if (host) facts.unwatch(watch, begin + 58);
  }
  facts.call(host ? "cuMemFreeHost" : "cuMemFree_v2",
             {.begin = begin + 60, .flags = kWaited, .allocation = released(address)});
}

std::vector<Evidence> evidence(const Facts& facts) {
  TemporaryFolder folder;
  facts.write(folder.path());
  SiteTable sites;
  auto run = load_judged_run(folder.path(), sites);
  return run->processes.at(0).threads.at(0).evidence;
}

bool only_with_new_memory(const Evidence& evidence) {
  EXPECT_TRUE(evidence.judged);
  EXPECT_EQ(evidence.reasons, 0u);
  return (evidence.conditions & kConditionNewMemory) != 0;
}

// The CPU fills the memory again while the copy of the turn before may still read it: the explicit wait is what orders the
// two. Nobody fills it after the last turn.
TEST(ReusedMemory, AWaitBeforeStagingMemoryIsFilledAgain) {
  Facts facts;
  turn(facts, 0, kHost, MemoryKind::pinned, true);
  turn(facts, 100, kHost, MemoryKind::pinned, true);
  const auto judged = evidence(facts);
  EXPECT_TRUE(only_with_new_memory(judged[2]));
  EXPECT_FALSE(only_with_new_memory(judged[3]));
  EXPECT_FALSE(only_with_new_memory(judged[6]));
}

// Without an explicit one it is the release's own, wherever the memory of the next turn lay.
TEST(ReusedMemory, TheReleaseItself) {
  Facts facts;
  turn(facts, 0, kHost, MemoryKind::pinned, false);
  turn(facts, 100, 3 * kHost, MemoryKind::pinned, false);
  const auto judged = evidence(facts);
  EXPECT_TRUE(only_with_new_memory(judged[2]));
  EXPECT_FALSE(only_with_new_memory(judged[5]));
}

// The device's own memory is used in the order of the stream.
TEST(ReusedMemory, DeviceMemoryInOneStream) {
  Facts facts;
  turn(facts, 0, 2 * kDevice, MemoryKind::device, true);
  turn(facts, 100, 3 * kDevice, MemoryKind::device, true);
  const auto judged = evidence(facts);
  for (const size_t wait : {2, 3, 6, 7}) EXPECT_FALSE(only_with_new_memory(judged[wait]));
}

// Two are alive at a time. The third comes where the first was, of which it becomes a part; the second stays what it is.
TEST(ReusedMemory, OnlyWhatIsReleasedIsUsedAgain) {
  Process process;
  process.threads.emplace_back();
  process.reuses.push_back({{0, 2}, {0, 3}});
  const Reuses reuses(process);
  testing::TextSink sink;
  ReusedMemory kept(reuses, sink);
  const auto take = [&](EventKind kind, uint32_t memory, uintptr_t begin, uint32_t operation) {
    Event event;
    event.kind = kind;
    event.thread = ThreadNumber{0};
    event.memory = MemoryNumber{memory};
    event.range = AddressRange::of(begin, 64);
    event.operation.thread = 0;
    event.operation.sequence = operation;
    event.on_host = true;
    kept.take(event);
  };
  take(EventKind::allocates, 0, 0x1000, 0);
  take(EventKind::allocates, 1, 0x2000, 1);
  take(EventKind::releases, 0, 0x1000, 2);
  take(EventKind::allocates, 2, 0x3000, 3);
  take(EventKind::unwatched, 2, 0x3010, 4);
  take(EventKind::unwatched, 1, 0x2010, 4);
  EXPECT_EQ(sink.lines,
            (std::vector<std::string>{"0 allocates t0 m0 0x1000+64", "0 allocates t0 m1 0x2000+64",
                                      "0 releases t0 m0 0x1000+64 lives_on", "0 unwatched t0 m0 0x1010+64",
                                      "0 unwatched t0 m1 0x2010+64"}));
}

}  // namespace
}  // namespace diogenes::necessity
