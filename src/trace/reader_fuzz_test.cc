// Whatever bytes a process folder holds, the reader ends, stays inside the files, and says no more than it
// knows. Run it under address and undefined (cmake --preset asan, ubsan) to make a stray read visible.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "trace/reader.h"
#include "trace/testing/trace_builder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;
namespace fs = std::filesystem;

std::string load(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void save(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

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
  void operator()(const VerdictRecord& record, uint32_t) {
    ++records;
    walk(record.use_stack);
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
  auto trace = timeline();
  for (int i = 0; i < 10; ++i) {
    trace.on_thread(i % 2).launch(1).sync(lasting(5)).first_use(after(3)).allocate(0x1000, 64, 1);
    trace.copy("cuMemcpyHtoD_v2", 64, lasting(2), 3).repeats(0).release(0x1000, lasting(1)).unnecessary();
  }
  write_process(folder.path(), trace, {.stage = Stage::memory_tracing});
  fs::path process = folder.path() / "node-100";
  std::vector<std::pair<fs::path, std::string>> files;
  for (const auto& entry : fs::directory_iterator(process))
    files.emplace_back(entry.path(), load(entry.path()));
  ASSERT_EQ(files.size(), 5u);
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
