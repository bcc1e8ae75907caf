// Whatever a process folder holds, an interpretation ends, and its events keep what the judge relies on.
// Run it under address and undefined (cmake --preset asan, ubsan) to make a stray read visible.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "analysis/necessity/judge_process.h"
#include "analysis/necessity/testing/interpreted.h"
#include "analysis/necessity/transfers/dead_transfers.h"

namespace diogenes::necessity {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

// What events.h promises.
struct InvariantSink : EventSink {
  std::map<uint32_t, bool> in_call;
  std::set<uint32_t> raised, ended;
  int64_t last_ns = 0;
  uint32_t threads = 0, watches = 0, objects = 0;
  bool over = false;

  // In order of first sight, without gaps.
  template <typename Number>
  void first_sight(Number number, uint32_t& next) {
    if (!number.valid()) return;
    EXPECT_LE(number.value, next);
    next = std::max(next, number.value + 1);
  }

  void take(const Event& event) override {
    EXPECT_FALSE(over) << "an event behind the end";
    EXPECT_GE(event.at_ns, last_ns) << text_of(event);
    last_ns = event.at_ns;
    first_sight(event.thread, threads);
    first_sight(event.object, objects);
    if (event.kind == EventKind::watch) first_sight(event.watch, watches);
    for (const Access& access : event.accesses)
      EXPECT_TRUE(!access.memory.valid() || !access.range.empty()) << text_of(event);
    bool& inside = in_call[event.thread.value];
    switch (event.kind) {
      case EventKind::call_begin:
        EXPECT_FALSE(inside) << text_of(event);
        inside = true;
        break;
      case EventKind::call_end:
        EXPECT_TRUE(inside) << text_of(event);
        inside = false;
        break;
      case EventKind::work:
      case EventKind::record_mark:
      case EventKind::wait_mark:
      case EventKind::covers:
      case EventKind::query:
      case EventKind::uses_mark:
        EXPECT_TRUE(inside) << text_of(event);
        break;
      case EventKind::watch:
        EXPECT_TRUE(raised.insert(event.watch.value).second) << text_of(event);
        break;
      case EventKind::touch:
      case EventKind::unwatch:
        EXPECT_TRUE(raised.contains(event.watch.value)) << text_of(event);
        EXPECT_TRUE(ended.insert(event.watch.value).second) << text_of(event);
        break;
      case EventKind::ends:
        over = true;
        break;
      default:
        break;
    }
  }
  using EventSink::take;
  static std::string text_of(const Event& event) { return testing::text_of(event); }
};

Facts some_facts() {
  Facts facts;
  facts.stream(2).stream(3, kCertainStream, 2);
  for (uint32_t i = 0; i < 12; ++i) {
    int64_t at = 1000 * i;
    uint32_t stream = i % 4 == 3 ? kNoStream : i % 4;
    uint64_t address = 0x10000 + 0x1000 * (i % 3);
    facts.on(i % 3);
    facts.call("cuMemAlloc_v2", {.begin = at, .allocation = allocated(address, 4096)});
    facts.call("cuLaunchKernel",
               {.begin = at + 100,
                .stream = stream,
                .operands = {operand(address, 64, kReads | kWrites | kArgument, MemoryKind::device)},
                .list_flags = kHasKernel | (i % 5 == 0 ? kAnyHost : 0u)});
    facts.call("cuMemcpyDtoHAsync_v2",
               {.begin = at + 200,
                .stream = stream,
                .operands = {operand(address, 64, kReads, MemoryKind::device),
                             operand(0x500000, 64, kWrites | kWhole, MemoryKind::pageable)},
                .transfer = transfer_of(MemoryKind::pageable, MemoryKind::device, 64)});
    facts.call("cuEventRecord", {.begin = at + 250, .stream = stream, .object = 2 + i % 2});
    facts.watch(i + 1, 0x500000, 64, at + 310).call("cuEventSynchronize", {.begin = at + 300, .object = 2});
    facts.touch(i + 1, at + 400)
        .order(OrderObject::mutex, 0x77, at + 410, i % 2 ? kAcquires | kBlocked : 0, 1);
    facts.peer(100, 0x500000, 32, at + 420).peer(7, 0x500000, 32, at + 420, Touching::writes);
    facts.memory_event(MemoryEvent::released, 0x500000, 4096, at + 450);
    facts.call("cuMemFree_v2", {.begin = at + 500, .flags = kWaited, .allocation = released(address)});
  }
  return facts;
}

void interpret_all(const fs::path& stage_folder) {
  SiteTable sites;
  auto run = load_judged_run(stage_folder, sites);
  ASSERT_TRUE(run.ok());
  for (const Process& process : run->processes) {
    InvariantSink sink;
    Interpretation interpretation(process);
    interpretation.replay(sink);
    TransferJudge transfers(process, sites);
    interpretation.replay(transfers);
  }
}

TEST(InterpretFuzz, WholeFactsKeepTheInvariants) {
  TemporaryFolder folder;
  some_facts().write(folder.path());
  interpret_all(folder.path());
}

TEST(InterpretFuzz, RandomDamageNeverCrashes) {
  TemporaryFolder folder;
  some_facts().write(folder.path());
  std::vector<std::pair<fs::path, std::string>> files;
  for (const auto& entry : fs::directory_iterator(folder.path() / "node-100"))
    files.emplace_back(entry.path(), load(entry.path()));
  ASSERT_EQ(files.size(), 7u);
  std::sort(files.begin(), files.end());

  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
    for (const auto& [path, original] : files) {
      std::string bytes = original;
      bool is_process = path.filename() == "process";
      if (below(4) == 0 && !is_process) bytes.resize(below(bytes.size() + 1));
      if (!bytes.empty())
        for (size_t flips = below(12); flips > 0; --flips)
          bytes[below(bytes.size())] = static_cast<char>(random());
      // The headers are often left whole, so that damage behind them is reached.
      if (below(4) != 0)
        bytes.replace(0, std::min<size_t>(bytes.size(), 48), original, 0, std::min<size_t>(bytes.size(), 48));
      save(path, bytes);
    }
    interpret_all(folder.path());
    if (::testing::Test::HasFailure()) return;
  }
}

// Whole records in any order: each names what it likes.
TEST(InterpretFuzz, RecordsInAnyOrder) {
  TemporaryFolder folder;
  some_facts().write(folder.path());
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    some_facts().write(folder.path());
    for (int thread = 0; thread < 3; ++thread) {
      fs::path path = folder.path() / "node-100" / ("thread-" + std::to_string(thread));
      std::string bytes = load(path);
      size_t records = (bytes.size() - 64) / 32 - 1;
      for (int swap = 0; swap < 20; ++swap) {
        size_t one = 32 + 32 * (random() % records), other = 32 + 32 * (random() % records);
        std::swap_ranges(bytes.begin() + static_cast<long>(one), bytes.begin() + static_cast<long>(one) + 32,
                         bytes.begin() + static_cast<long>(other));
      }
      save(path, bytes);
    }
    interpret_all(folder.path());
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace diogenes::necessity
