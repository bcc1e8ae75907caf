// Whatever bytes a process folder holds, the reader ends, stays inside the files, and says no more than it
// knows. Run it under address and undefined (cmake --preset asan, ubsan) to make a stray read visible.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "trace/reader.h"
#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

struct Checker {
  const ProcessTrace& process;
  uint64_t sum = 0;
  size_t records = 0, operations = 0;

  void walk(uint32_t stack) {
    for (Frame frame : process.stacks.frames(stack)) {
      sum += frame.packed;
      if (auto* module = process.module(frame.module())) sum += strlen(module->path);
    }
    process.stacks.cut(stack);
  }
  void operator()(const OperationRecord& record, uint32_t sequence) {
    EXPECT_EQ(sequence, operations++);
    EXPECT_LE(sequence, records);
    ++records;
    walk(record.stack);
  }
  void operator()(const CallRecord& record, uint32_t) {
    ++records;
    for (const OperandRecord& operand : process.operands.operands(record.operands)) sum += operand.begin;
    sum += process.operands.flags(record.operands);
  }
  void operator()(const TouchRecord& record, uint32_t) {
    ++records;
    walk(record.stack);
  }
  template <typename Record>
  void operator()(const Record& record, uint32_t) {
    ++records;
    sum += record.type == RecordType::none;
  }
};

void read_everything(const fs::path& stage_folder) {
  auto stage = read_stage(stage_folder);
  ASSERT_TRUE(stage.ok());
  for (const ProcessTrace& process : stage->processes) {
    for (const ThreadTrace& thread : process.threads) {
      Checker checker{process};
      thread.visit(checker);
      EXPECT_LE(checker.records, thread.record_count());
      EXPECT_EQ(checker.operations, thread.operation_count());
    }
    EXPECT_LE(strlen(process.process.executable), sizeof process.process.executable - 1);
    for (const std::string& line : process.missing) EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(ReaderFuzz, RandomDamageNeverCrashes) {
  TemporaryFolder folder;
  Facts facts;
  facts.module("/app/app", 0x400000);
  for (uint32_t i = 0; i < 10; ++i) {
    const std::vector<Frame> stack = {Frame::of(0, 16 * i), Frame::of(0, 0x10)};
    const std::vector<OperandRecord> operands = {operand(0x1000, 64, kReads | kWrites, MemoryKind::device)};
    facts.on(i % 2).stream(2 + i).watch(i, 0x5000, 64, 10 * i).touch(i, 10 * i + 5);
    facts.call("cuLaunchKernel", {.stream = 2 + i, .operands = operands, .stack = stack});
    facts.call("cuMemAlloc_v2", {.stack = stack, .allocation = allocated(0x1000, 64)});
    facts.call("cuMemcpyHtoD_v2", {.operands = operands,
                                   .stack = stack,
                                   .transfer = transfer_of(MemoryKind::device, MemoryKind::pageable, 64)});
    facts.hash(static_cast<uint16_t>(i % 2), i, 7).order(OrderObject::mutex, 0x77, 10 * i, 0);
    facts.unwatch(i, 10 * i).memory_event(MemoryEvent::released, 0x5000, 64, 10 * i);
    facts.peer(200, 0x5000, 64, 10 * i);
  }
  facts.write(folder.path());
  fs::path process = folder.path() / "node-100";
  std::vector<std::pair<fs::path, std::string>> files;
  for (const auto& entry : fs::directory_iterator(process))
    files.emplace_back(entry.path(), load(entry.path()));
  ASSERT_EQ(files.size(), 6u);
  std::sort(files.begin(), files.end());

  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
    for (const auto& [path, original] : files) {
      std::string bytes = original;
      if (below(3) == 0) bytes.resize(below(bytes.size() + 1));
      if (!bytes.empty())
        for (size_t flips = below(8); flips > 0; --flips)
          bytes[below(bytes.size())] = static_cast<char>(random());
      // The headers are often left whole, so that damage behind them is reached.
      if (below(2) == 0)
        bytes.replace(0, std::min<size_t>(bytes.size(), 48), original, 0, std::min<size_t>(bytes.size(), 48));
      save(path, bytes);
    }
    read_everything(folder.path());
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace diogenes
