#include "trace/reader.h"

#include <gtest/gtest.h>

#include <fstream>

#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

struct Seen {
  std::vector<OperationRecord> operations;
  std::vector<CallRecord> calls;
  std::vector<uint32_t> sequences, call_sequences, transfer_sequences;
  std::vector<HashRecord> hashes;
  std::vector<WatchRecord> watches;
  std::vector<TouchRecord> touches;
  std::vector<AllocationRecord> allocations;

  void operator()(const OperationRecord& record, uint32_t sequence) {
    operations.push_back(record);
    sequences.push_back(sequence);
  }
  void operator()(const CallRecord& record, uint32_t sequence) {
    calls.push_back(record);
    call_sequences.push_back(sequence);
  }
  void operator()(const TransferRecord&, uint32_t sequence) { transfer_sequences.push_back(sequence); }
  void operator()(const AllocationRecord& record, uint32_t) { allocations.push_back(record); }
  void operator()(const HashRecord& record, uint32_t) { hashes.push_back(record); }
  void operator()(const WatchRecord& record, uint32_t) { watches.push_back(record); }
  void operator()(const TouchRecord& record, uint32_t) { touches.push_back(record); }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}
};

constexpr uint64_t kHost = 0x10'0000, kDevice = 0x7000'0000;
const std::vector<Frame> kStack = {Frame::of(0, 0x900), Frame::of(0, 0x10)};

// A process with so many waits.
Facts waits(int count) {
  Facts facts;
  for (int i = 0; i < count; ++i) facts.call("cuCtxSynchronize", {.begin = 10 + 20 * i, .stack = kStack});
  return facts;
}

fs::path only_process(const fs::path& stage) { return stage / "node-100"; }

TEST(Reader, ReadsBackWhatWasWritten) {
  TemporaryFolder folder;
  Facts facts;
  facts.module("/app/app", 0x400000).module("/driver/libcuda.so.1", 0x7f0000000000);
  facts.call("cuMemcpyDtoHAsync_v2", {.begin = 11'000,
                                      .lasts = 5'000,
                                      .operands = {operand(kDevice, 64, kReads, MemoryKind::device),
                                                   operand(kHost, 64, kWrites | kWhole, MemoryKind::pinned)},
                                      .list_flags = kHasKernel,
                                      .transfer = transfer_of(MemoryKind::pinned, MemoryKind::device, 64)});
  facts.hash(0, 0, 77, Held::other).watch(1, kHost, 64, 20'000);
  facts.call("cuCtxSynchronize", {.begin = 17'000, .stack = kStack});
  facts.touch(1, 40'000);
  facts.on(3).call("cuMemFree_v2", {.begin = 50'000, .allocation = released(kDevice)});
  facts.write(folder.path());
  auto stage = read_stage(folder.path());
  ASSERT_TRUE(stage.ok());
  EXPECT_TRUE(stage->missing.empty());
  ASSERT_EQ(stage->processes.size(), 1u);
  const ProcessTrace& process = stage->processes[0];
  EXPECT_EQ(process.process.pid, 100);
  ASSERT_EQ(process.modules.size(), 2u);
  EXPECT_STREQ(process.modules[1].path, "/driver/libcuda.so.1");
  ASSERT_EQ(process.threads.size(), 2u);
  EXPECT_EQ(process.threads[1].ordinal(), 3u);

  Seen seen;
  process.threads[0].visit(seen);
  ASSERT_EQ(seen.operations.size(), 2u);
  EXPECT_EQ(seen.operations[0].begin_ns, 11'000);
  EXPECT_EQ(seen.operations[0].call, 5'000u);
  EXPECT_EQ(seen.sequences, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(seen.call_sequences, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(seen.transfer_sequences, std::vector<uint32_t>{0});
  auto operands = process.operands.operands(seen.calls[0].operands);
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(operands[1].begin, kHost);
  EXPECT_EQ(process.operands.flags(seen.calls[0].operands), uint32_t{kHasKernel});
  auto frames = process.stacks.frames(seen.operations[1].stack);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].module(), 0u);
  EXPECT_EQ(frames[0].offset(), 0x900u);
  ASSERT_EQ(seen.hashes.size(), 1u);
  EXPECT_EQ(seen.hashes[0].hash[0], 77u);
  EXPECT_EQ(seen.hashes[0].held, Held::other);
  ASSERT_EQ(seen.watches.size(), 1u);
  EXPECT_EQ(seen.watches[0].begin, kHost);
  ASSERT_EQ(seen.touches.size(), 1u);
  EXPECT_EQ(seen.touches[0].at_ns, 40'000);
  process.threads[1].visit(seen);
  ASSERT_EQ(seen.allocations.size(), 1u);
  EXPECT_EQ(seen.allocations[0].address, kDevice);
}

TEST(Reader, ProcessesAreOrderedByRankThenStart) {
  TemporaryFolder folder;
  waits(1).process(9, 1, 0).write(folder.path());
  waits(1).process(12, 0, 0).write(folder.path());
  waits(1).process(10, -1, 2000).write(folder.path());
  waits(1).process(11, -1, 1000).write(folder.path());
  auto stage = read_stage(folder.path());
  ASSERT_TRUE(stage.ok());
  std::vector<int> pids;
  for (const auto& process : stage->processes) pids.push_back(process.process.pid);
  EXPECT_EQ(pids, (std::vector<int>{11, 10, 12, 9}));
}

TEST(Reader, TruncatedThreadIsTakenAsFarAsItGoes) {
  TemporaryFolder folder;
  waits(3).write(folder.path());
  fs::path file = only_process(folder.path()) / "thread-0";
  fs::resize_file(file, sizeof(FileHeader) + 4 * sizeof(OperationRecord) + 14);  // each has a CallRecord
  auto stage = read_stage(folder.path());
  ASSERT_TRUE(stage.ok());
  Seen seen;
  stage->processes[0].threads[0].visit(seen);
  EXPECT_EQ(seen.operations.size(), 2u);
  ASSERT_EQ(stage->missing.size(), 1u);
  EXPECT_NE(stage->missing[0].find("node-100/thread-0: 14 bytes after the last record"), std::string::npos)
      << stage->missing[0];
}

// Joins thread-1 to the end of thread-0, as the agent goes on with the file of a thread that has ended.
void go_on(const fs::path& process, uint32_t number, uint32_t cut = 64) {
  fs::resize_file(process / "thread-0", fs::file_size(process / "thread-0") - 64);  // its zeros
  std::ifstream other(process / "thread-1", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(other), {}};
  const ThreadRecord begins{.type = RecordType::thread, .thread = number, .tid = 555};
  std::ofstream file(process / "thread-0", std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(&begins), sizeof begins);
  file << bytes.substr(sizeof(FileHeader), bytes.size() - sizeof(FileHeader) - 64 + cut);
  fs::remove(process / "thread-1");
}

Facts two_threads() {
  Facts facts = waits(3);
  facts.on(1);
  for (int i = 0; i < 2; ++i) facts.call("cuStreamSynchronize", {.begin = 100 + 20 * i, .stack = kStack});
  return facts;
}

TEST(Reader, OneFileHasThreadsOneAfterTheOther) {
  TemporaryFolder folder;
  two_threads().write(folder.path());
  go_on(only_process(folder.path()), 1);
  auto stage = read_stage(folder.path());
  ASSERT_TRUE(stage.ok());
  EXPECT_TRUE(stage->missing.empty());
  const auto& threads = stage->processes[0].threads;
  ASSERT_EQ(threads.size(), 2u);
  Seen first, second;
  threads[0].visit(first);
  threads[1].visit(second);
  EXPECT_EQ(first.operations.size(), 3u);
  EXPECT_EQ(threads[0].operation_count(), 3u);
  EXPECT_EQ(threads[1].ordinal(), 1u);
  EXPECT_EQ(threads[1].tid(), 555u);
  EXPECT_EQ(second.sequences, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(second.operations[0].begin_ns, 100);
  EXPECT_FALSE(threads[0].damaged() || threads[1].damaged());
}

TEST(Reader, OfAFileThatWasCutTheLastThreadIsDamaged) {
  TemporaryFolder folder;
  two_threads().write(folder.path());
  const fs::path process = only_process(folder.path());
  go_on(process, 1, 0);
  fs::resize_file(process / "thread-0", fs::file_size(process / "thread-0") - 10);
  auto stage = read_stage(folder.path());
  ASSERT_TRUE(stage.ok());
  const auto& threads = stage->processes[0].threads;
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_FALSE(threads[0].damaged());
  EXPECT_TRUE(threads[1].damaged());
}

TEST(Reader, ThreadsWithoutANumberOfTheirOwnAreLeftOut) {
  for (const uint32_t number : {0u, 70'000u}) {
    TemporaryFolder folder;
    two_threads().write(folder.path());
    go_on(only_process(folder.path()), number);
    auto stage = read_stage(folder.path());
    ASSERT_TRUE(stage.ok());
    const auto& threads = stage->processes[0].threads;
    ASSERT_EQ(threads.size(), 1u);
    EXPECT_EQ(threads[0].operation_count(), 3u);
    EXPECT_EQ(threads[0].damaged(), number == 70'000);
    ASSERT_EQ(stage->missing.size(), 2u);  // and that one thread is missing
    EXPECT_NE(stage->missing[0].find(number == 0 ? "another has their number: 1;" : "thread of number 70000"),
              std::string::npos)
        << stage->missing[0];
  }
}

TEST(Reader, MissingFilesAreNamed) {
  TemporaryFolder folder;
  waits(1).write(folder.path());
  fs::remove(only_process(folder.path()) / "stacks");
  fs::remove(only_process(folder.path()) / "modules");
  fs::remove(only_process(folder.path()) / "thread-0");
  auto stage = read_stage(folder.path());
  ASSERT_TRUE(stage.ok());
  EXPECT_EQ(stage->missing.size(), 3u);
  EXPECT_FALSE(read_process(folder.path()).ok());
  EXPECT_FALSE(read_stage(folder.path() / "no-such-folder").ok());
}

TEST(Reader, StackIndexesAreChecked) {
  TemporaryFolder folder;
  waits(1).write(folder.path());
  auto process = read_process(only_process(folder.path()));
  ASSERT_TRUE(process.ok());
  EXPECT_TRUE(process->stacks.frames(kNoStack).empty());
  EXPECT_TRUE(process->stacks.frames(3).empty());  // inside the header
  EXPECT_EQ(process->stacks.frames(4).size(), 2u);
  EXPECT_TRUE(process->stacks.frames(0xffffffff).empty());
}

TEST(Reader, AnotherVersionIsRefused) {
  TemporaryFolder folder;
  waits(1).write(folder.path());
  fs::path path = only_process(folder.path()) / "process";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8);
  file.put(kTraceVersion + 1);
  file.close();
  auto process = read_process(only_process(folder.path()));
  ASSERT_FALSE(process.ok());
  EXPECT_NE(std::string(process.error().c_str()).find("version " + std::to_string(kTraceVersion + 1)),
            std::string::npos);
}

// A function of Python is there whole, or not at all.
TEST(Reader, FunctionsOfPythonAreCheckedAgainstTheFile) {
  TemporaryFolder folder;
  Facts facts = waits(1);
  const uint32_t index = facts.code(0x030b, "/app/größe.py", "f", 7, "\x80\x01");
  facts.write(folder.path());
  const fs::path file = only_process(folder.path()) / "python";
  auto whole = read_process(only_process(folder.path()));
  ASSERT_TRUE(whole.ok());
  const auto code = whole->code.code(index);
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->version, 0x030b);
  EXPECT_EQ(code->first_line, 7);
  EXPECT_EQ(code->file, "/app/größe.py");
  EXPECT_EQ(code->name, "f");
  EXPECT_EQ(code->lines.size(), 2u);
  for (const uint32_t wrong : {0u, 1u, index + 1, index + 2, 0xff'ffffu})
    EXPECT_FALSE(whole->code.code(wrong).has_value()) << wrong;
  const uintmax_t end = index * 8 + (sizeof(CodeRecord) + code->file.size() + 1 + 2 + 7) / 8 * 8;
  for (uintmax_t cut = end; cut-- > 0;) {
    fs::resize_file(file, cut);
    auto process = read_process(only_process(folder.path()));
    ASSERT_TRUE(process.ok());
    EXPECT_FALSE(process->code.code(index).has_value()) << cut;
  }
}

}  // namespace
}  // namespace diogenes
