#include "trace/reader.h"

#include <gtest/gtest.h>

#include <fstream>

#include "trace/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

struct Seen {
  std::vector<OperationRecord> operations;
  std::vector<uint32_t> sequences, transfer_sequences;
  std::vector<VerdictRecord> verdicts;
  std::vector<HashRecord> hashes;
  std::vector<AllocationRecord> allocations;
  std::vector<GpuTimeRecord> gpu_times;
  std::vector<ClockReadRecord> clock_reads;
  std::vector<WatchedRecord> watched;

  void operator()(const OperationRecord& record, uint32_t sequence) {
    operations.push_back(record);
    sequences.push_back(sequence);
  }
  void operator()(const TransferRecord&, uint32_t sequence) { transfer_sequences.push_back(sequence); }
  void operator()(const AllocationRecord& record, uint32_t) { allocations.push_back(record); }
  void operator()(const HashRecord& record, uint32_t) { hashes.push_back(record); }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}
  void operator()(const ClockReadRecord& record, uint32_t) { clock_reads.push_back(record); }
  void operator()(const WatchedRecord& record, uint32_t) { watched.push_back(record); }
  void operator()(const VerdictRecord& record, uint32_t) { verdicts.push_back(record); }
  void operator()(const GpuTimeRecord& record, uint32_t) { gpu_times.push_back(record); }
};

fs::path only_process(const fs::path& stage) { return stage / "node-100"; }

TEST(Reader, ReadsBackWhatWasWritten) {
  TemporaryFolder folder;
  auto trace = timeline()
                   .sync(at(10), lasting(5))
                   .first_use(at(40))
                   .clock_read(after(7))
                   .watched(0xabc, 1, 2)
                   .copy("cuMemcpyHtoD_v2", 64, lasting(2), 3);
  trace.on_thread(3).release(0x1000, lasting(1)).unnecessary();
  write_process(folder.path(), trace, {.stage = Stage::memory_tracing, .start_ns = 1000});
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
  EXPECT_EQ(seen.operations[0].waited, 5'000u);
  EXPECT_EQ(seen.operations[1].call, 5'000u);
  EXPECT_EQ(seen.sequences, (std::vector<uint32_t>{0, 1}));
  ASSERT_EQ(seen.clock_reads.size(), 1u);
  EXPECT_EQ(seen.clock_reads[0].sequence, 0u);
  EXPECT_EQ(seen.clock_reads[0].after_ns, 7'000);
  ASSERT_EQ(seen.watched.size(), 1u);
  EXPECT_EQ(seen.watched[0].sequence, 0u);
  EXPECT_EQ(seen.watched[0].range, 0xabcu);
  EXPECT_EQ(seen.watched[0].part, 1);
  EXPECT_EQ(seen.transfer_sequences, std::vector<uint32_t>{1});
  ASSERT_EQ(seen.verdicts.size(), 1u);
  EXPECT_EQ(seen.verdicts[0].after_ns, 25'000);  // 40 - (10 + 5)
  auto frames = process.stacks.frames(seen.verdicts[0].use_stack);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].module(), 0u);
  EXPECT_EQ(frames[0].offset(), 0x900u);
  EXPECT_EQ(seen.hashes.size(), 1u);
}

TEST(Reader, ProcessesAreOrderedByRankThenStart) {
  TemporaryFolder folder;
  write_process(folder.path(), timeline().sync(lasting(1)), {.pid = 9, .rank = 1});
  write_process(folder.path(), timeline().sync(lasting(1)), {.pid = 12, .rank = 0});
  write_process(folder.path(), timeline().sync(lasting(1)), {.pid = 10, .start_ns = 2000});
  write_process(folder.path(), timeline().sync(lasting(1)), {.pid = 11, .start_ns = 1000});
  auto stage = read_stage(folder.path());
  ASSERT_TRUE(stage.ok());
  std::vector<int> pids;
  for (const auto& process : stage->processes) pids.push_back(process.process.pid);
  EXPECT_EQ(pids, (std::vector<int>{11, 10, 12, 9}));
}

TEST(Reader, TruncatedThreadIsTakenAsFarAsItGoes) {
  TemporaryFolder folder;
  auto trace = timeline().sync(lasting(1)).sync(lasting(1)).sync(lasting(1));
  write_process(folder.path(), trace);
  fs::path file = only_process(folder.path()) / "thread-0";
  fs::resize_file(file, sizeof(FileHeader) + 2 * sizeof(OperationRecord) + 14);
  auto stage = read_stage(folder.path());
  ASSERT_TRUE(stage.ok());
  Seen seen;
  stage->processes[0].threads[0].visit(seen);
  EXPECT_EQ(seen.operations.size(), 2u);
  ASSERT_EQ(stage->missing.size(), 1u);
  EXPECT_NE(stage->missing[0].find("node-100/thread-0: 14 bytes after the last record"), std::string::npos)
      << stage->missing[0];
}

TEST(Reader, MissingFilesAreNamed) {
  TemporaryFolder folder;
  write_process(folder.path(), timeline().sync(lasting(1)));
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
  write_process(folder.path(), timeline().sync(lasting(1)));
  auto process = read_process(only_process(folder.path()));
  ASSERT_TRUE(process.ok());
  EXPECT_TRUE(process->stacks.frames(kNoStack).empty());
  EXPECT_TRUE(process->stacks.frames(3).empty());  // inside the header
  EXPECT_EQ(process->stacks.frames(4).size(), 2u);
  EXPECT_TRUE(process->stacks.frames(0xffffffff).empty());
}

TEST(Reader, AnotherVersionIsRefused) {
  TemporaryFolder folder;
  write_process(folder.path(), timeline().sync(lasting(1)));
  fs::path path = only_process(folder.path()) / "process";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8);
  file.put(9);
  file.close();
  auto process = read_process(only_process(folder.path()));
  ASSERT_FALSE(process.ok());
  EXPECT_NE(std::string(process.error().c_str()).find("version 9"), std::string::npos);
}

}  // namespace
}  // namespace diogenes
