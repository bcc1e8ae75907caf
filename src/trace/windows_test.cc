#include "trace/windows.h"

#include <gtest/gtest.h>

#include <fstream>

#include "trace/testing/facts_builder.h"
#include "trace/testing/temporary_folder.h"

namespace diogenes {
namespace {

using namespace diogenes::testing;

struct Begins {
  std::vector<int64_t> at;
  std::vector<uint32_t> sequences;
  void operator()(const OperationRecord& record, uint32_t sequence) {
    at.push_back(record.begin_ns);
    sequences.push_back(sequence);
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}
};

// Ten waits, which begin at 1010, 1030, ... 1190.
StageTrace waits(const TemporaryFolder& folder) {
  Facts facts;
  for (int i = 0; i < 10; ++i) facts.call("cuCtxSynchronize", {.begin = 1010 + 20 * i});
  facts.write(folder.path());
  auto stage = read_stage(folder.path());
  EXPECT_TRUE(stage);
  return std::move(*stage);
}

TEST(Windows, AreReadBackInTheOrderInWhichTheyWereClosed) {
  TemporaryFolder folder;
  EXPECT_TRUE(read_windows(folder.path()).empty());
  EXPECT_TRUE(add_window(folder.path(), {10, 20}));
  EXPECT_TRUE(add_window(folder.path(), {30, 45}));
  const std::vector<Window> windows = read_windows(folder.path());
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].begin_ns, 10);
  EXPECT_EQ(windows[1].end_ns, 45);
}

TEST(Windows, OfADamagedFileAreTakenAsFarAsTheyMakeSense) {
  TemporaryFolder folder;
  ASSERT_TRUE(add_window(folder.path(), {10, 20}));
  ASSERT_TRUE(add_window(folder.path(), {30, 5}));          // ends before it begins
  ASSERT_TRUE(add_window(folder.path(), {-4, INT64_MAX}));  // no time
  std::ofstream(folder.path() / kWindowsFile, std::ios::app) << "cut";
  EXPECT_EQ(read_windows(folder.path()).size(), 1u);
}

TEST(Windows, TellHowMuchSlowerAProgramWas) {
  // 1,000 pieces of work in 2 s before, 600 in 1.5 s of the window: 500 and 400 a second.
  const Window window{.begin_ns = 2'000'000'000,
                      .end_ns = 3'500'000'000,
                      .undisturbed_ns = 2'000'000'000,
                      .undisturbed_work = 1000,
                      .work = 600};
  EXPECT_DOUBLE_EQ(slowdown(window), 1.25);
  Window little_recorded = window, little_before = window, not_counted = window;
  little_recorded.work = little_before.undisturbed_work = 19;
  not_counted.undisturbed_ns = 0;
  for (const Window& one : {Window{10, 20}, little_recorded, little_before, not_counted})
    EXPECT_EQ(slowdown(one), 0);
}

TEST(Windows, CannotBeWrittenWhereThereIsNoFolder) { EXPECT_FALSE(add_window("/no/such/folder", {10, 20})); }

TEST(Windows, ClippedTracesHaveWhatBeganInTheWindow) {
  TemporaryFolder folder;
  StageTrace stage = waits(folder);
  clip(stage, {1045, 1110});
  ASSERT_EQ(stage.processes.size(), 1u);
  ASSERT_EQ(stage.processes[0].threads.size(), 1u);
  const ThreadTrace& thread = stage.processes[0].threads[0];
  Begins seen;
  thread.visit(seen);
  EXPECT_EQ(seen.at, (std::vector<int64_t>{1050, 1070, 1090}));
  EXPECT_EQ(seen.sequences, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(thread.operation_count(), 3u);
  EXPECT_EQ(thread.first_sequence(), 2u);
  EXPECT_EQ(stage.processes[0].process.ended_ns, 1110);
  EXPECT_GE(stage.processes[0].process.started_ns, 1045);
}

TEST(Windows, ThatHoldNothingLeaveNothing) {
  for (const Window window : {Window{1, 1000}, Window{1191, 5000}, Window{1051, 1060}}) {
    TemporaryFolder folder;
    StageTrace stage = waits(folder);
    clip(stage, window);
    Begins seen;
    stage.processes[0].threads[0].visit(seen);
    EXPECT_TRUE(seen.at.empty()) << window.begin_ns;
    EXPECT_EQ(stage.processes[0].threads[0].operation_count(), 0u);
  }
}

TEST(Windows, ThatHoldAllLeaveAll) {
  TemporaryFolder folder;
  StageTrace stage = waits(folder);
  clip(stage, {1, 10'000});
  EXPECT_EQ(stage.processes[0].threads[0].operation_count(), 10u);
  EXPECT_EQ(stage.processes[0].threads[0].first_sequence(), 0u);
}

}  // namespace
}  // namespace diogenes
