#include "views/shared/context_tree.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

using Kind = ReportContext::Kind;

ReportContext context(uint32_t parent, Kind kind, const char* name, double cpu_s = 0, int called_line = 0) {
  ReportContext made;
  made.parent = parent;
  made.kind = kind;
  made.name = name;
  made.cpu_s = cpu_s;
  made.called_line = called_line;
  return made;
}

ReportContext call(uint32_t parent, const char* name, double driver_s, uint64_t count) {
  ReportContext made = context(parent, Kind::call, name);
  made.driver_s = driver_s;
  made.count = count;
  return made;
}

ReportContext gpu(uint32_t parent, int32_t work, const char* name, double gpu_s, uint64_t count) {
  ReportContext made = context(parent, Kind::gpu, name);
  made.work = work;
  made.gpu_s = gpu_s;
  made.count = count;
  return made;
}

// main
//   solve            2 s      calls itself, 1 s
//     launch .5 s  axpy 3 s
//     solve
//       launch .25 s  axpy 1 s
//   synchronize      .25 s, waits 2 s
//   helper           3 s
//     copy call 1 s  copy 2 s
// A parent comes before its children; else the order is that of levels, not of a walk.
ReportProfile profile() {
  ReportProfile made;
  made.threads_s = 16;
  made.gpu_s = 6;
  ReportGpuWork axpy, copy;
  axpy.name = "axpy";
  axpy.what_if = ReportWhatIf{{1.125, 1, 2}, {3, 2, 4}, std::nullopt, std::nullopt, ""};
  copy.name = "copy to the device";
  copy.kind = ReportGpuWork::Kind::to_device;
  made.work = {axpy, copy};
  made.contexts = {context(0, Kind::root, "program"),
                   context(0, Kind::frame, "main", 1),
                   context(1, Kind::frame, "solve", 2, 10),
                   call(1, "cudaDeviceSynchronize", 0.25, 1),
                   context(1, Kind::frame, "helper", 3, 12),
                   call(2, "cudaLaunchKernel", 0.5, 4),
                   context(2, Kind::frame, "solve", 1, 20),
                   call(4, "cudaMemcpyAsync", 1, 5),
                   gpu(5, 0, "axpy", 3, 4),
                   call(6, "cudaLaunchKernel", 0.25, 2),
                   gpu(7, 1, "copy to the device", 2, 5),
                   gpu(9, 0, "axpy", 1, 2)};
  made.contexts[3].waited_s = 2;
  made.contexts[3].recoverable_s = 1.5;
  made.contexts[8].half_gain_s = 0.75;
  made.contexts[11].half_gain_s = 0.25;
  return made;
}

uint32_t named(const ContextRows& rows, const std::vector<uint32_t>& numbers, const std::string& name) {
  for (const uint32_t number : numbers)
    if (rows.context(number).name == name) return number;
  ADD_FAILURE() << "no row " << name;
  return 0;
}

std::vector<std::string> names(const ContextRows& rows, const std::vector<uint32_t>& numbers) {
  std::vector<std::string> made;
  for (const uint32_t number : numbers) made.push_back(rows.context(number).name);
  return made;
}

using Names = std::vector<std::string>;

TEST(ContextTree, InclusiveTimesAreThoseOfAllBelow) {
  const ReportProfile report = profile();
  const ContextTree tree(report);
  const ContextTimes& whole = tree.inclusive(0);
  EXPECT_DOUBLE_EQ(whole.cpu_s, 7);
  EXPECT_DOUBLE_EQ(whole.driver_s, 2);
  EXPECT_DOUBLE_EQ(whole.threads_s(), 11);
  EXPECT_DOUBLE_EQ(whole.gpu_s, 6);
  EXPECT_DOUBLE_EQ(whole.recoverable_s, 1.5);
  EXPECT_EQ(whole.calls, 12u);
  EXPECT_EQ(whole.pieces, 11u);
  EXPECT_DOUBLE_EQ(tree.inclusive(2).threads_s(), 3.75);  // solve
  EXPECT_DOUBLE_EQ(tree.inclusive(2).half_gain_s, 1);
  EXPECT_DOUBLE_EQ(tree.own(2).threads_s(), 2);
}

TEST(ContextTree, ImportanceIsThatOfThePaper) {
  const ReportProfile report = profile();
  const ContextTree tree(report);
  const ContextTimes &solve = tree.inclusive(2), &helper = tree.inclusive(4), &main = tree.inclusive(1);
  EXPECT_DOUBLE_EQ(tree.cpu_importance(helper), 2 / 16.0);  // C 4, G 2
  EXPECT_DOUBLE_EQ(tree.cpu_importance(solve), 0);          // C 3.75, G 4
  EXPECT_DOUBLE_EQ(tree.gpu_importance(solve), 4 / 6.0);
  EXPECT_DOUBLE_EQ(tree.gpu_importance(main, ReportGpuWork::Kind::to_device), 2 / 6.0);
  EXPECT_DOUBLE_EQ(tree.gpu_importance(main, ReportGpuWork::Kind::kernel), 4 / 6.0);
  EXPECT_DOUBLE_EQ(tree.gpu_importance(6, 0), 1 / 6.0);  // axpy in the inner solve
  EXPECT_DOUBLE_EQ(tree.gpu_importance(1, 0), 4 / 6.0);
  EXPECT_DOUBLE_EQ(tree.gpu_importance(2, 1), 0);
}

TEST(ContextTree, TopDownIsTheTreeAsItIs) {
  const ReportProfile report = profile();
  const ContextTree tree(report);
  ContextRows rows(tree, TreeView::top_down);
  ASSERT_EQ(rows.roots(), std::vector<uint32_t>{0});
  EXPECT_EQ(names(rows, rows.children(1)), (Names{"solve", "cudaDeviceSynchronize", "helper"}));
  EXPECT_EQ(names(rows, rows.sorted(rows.children(1), TreeColumn::time)),
            (Names{"helper", "solve", "cudaDeviceSynchronize"}));  // 4, 3.75, 2.25
  EXPECT_EQ(names(rows, rows.sorted(rows.children(1), TreeColumn::gpu)),
            (Names{"solve", "helper", "cudaDeviceSynchronize"}));
  EXPECT_EQ(names(rows, rows.sorted(rows.children(1), TreeColumn::count)),
            (Names{"solve", "helper", "cudaDeviceSynchronize"}));  // 6, 5, 1
  EXPECT_EQ(rows.row(6).depth, 3u);
  EXPECT_EQ(rows.row(6).called_line, 20);
  EXPECT_DOUBLE_EQ(rows.amount(8, TreeColumn::count), 4);
}

TEST(ContextTree, TheHotPathHasHalfOfEachStep) {
  const ReportProfile report = profile();
  const ContextTree tree(report);
  ContextRows rows(tree, TreeView::top_down);
  EXPECT_EQ(names(rows, rows.hot_path(0, TreeColumn::gpu)),
            (Names{"program", "main", "solve", "cudaLaunchKernel", "axpy"}));  // 6, 6, 4, 3, 3
  EXPECT_EQ(names(rows, rows.hot_path(0, TreeColumn::time)),
            (Names{"program", "main"}));                                               // 11, 11; 4 at most
  EXPECT_EQ(names(rows, rows.hot_path(4, TreeColumn::recoverable)), Names{"helper"});  // nothing of nothing
}

TEST(ContextTree, BottomUpSharesOutWhatAFunctionTookAmongItsCallers) {
  const ReportProfile report = profile();
  const ContextTree tree(report);
  ContextRows rows(tree, TreeView::bottom_up);
  EXPECT_EQ(rows.roots().size(), 8u);  // the program is no function
  const uint32_t axpy = rows.sorted(rows.roots(), TreeColumn::gpu).front();
  EXPECT_EQ(rows.context(axpy).name, "axpy");
  EXPECT_DOUBLE_EQ(rows.row(axpy).own.gpu_s, 4);
  EXPECT_EQ(rows.row(axpy).own.pieces, 6u);
  EXPECT_DOUBLE_EQ(rows.amount(axpy, TreeColumn::gain), 1.125);  // of all of it, not 0.75 + 0.25
  ASSERT_EQ(names(rows, rows.children(axpy)), Names{"cudaLaunchKernel"});
  const uint32_t launch = rows.children(axpy)[0];
  ASSERT_EQ(names(rows, rows.children(launch)), Names{"solve"});
  const uint32_t solve = rows.children(launch)[0];
  EXPECT_DOUBLE_EQ(rows.row(solve).own.gpu_s, 4);
  EXPECT_DOUBLE_EQ(rows.amount(solve, TreeColumn::gain), 1);
  EXPECT_EQ(rows.row(solve).called_line, 0);  // 10 and 20
  EXPECT_EQ(names(rows, rows.children(solve)), (Names{"main", "solve"}));
  const uint32_t inner = named(rows, rows.children(solve), "solve");
  EXPECT_DOUBLE_EQ(rows.row(inner).own.gpu_s, 1);
  ASSERT_EQ(names(rows, rows.children(inner)), Names{"main"});
  EXPECT_FALSE(rows.row(rows.children(inner)[0]).has_children);
  EXPECT_EQ(names(rows, rows.hot_path(axpy, TreeColumn::gpu)),
            (Names{"axpy", "cudaLaunchKernel", "solve", "main"}));
}

TEST(ContextTree, RecursionCountsOnce) {
  const ReportProfile report = profile();
  const ContextTree tree(report);
  ContextRows up(tree, TreeView::bottom_up), flat(tree, TreeView::flat);
  const uint32_t solve = named(up, up.roots(), "solve");
  EXPECT_DOUBLE_EQ(up.row(solve).own.threads_s(), 3);
  EXPECT_DOUBLE_EQ(up.row(solve).inclusive.threads_s(), 3.75);
  const uint32_t from_itself = named(up, up.children(solve), "solve");
  EXPECT_DOUBLE_EQ(up.row(from_itself).own.threads_s(), 1);
  EXPECT_DOUBLE_EQ(up.row(from_itself).inclusive.threads_s(), 1.25);
  const uint32_t function = named(flat, flat.roots(), "solve");
  EXPECT_DOUBLE_EQ(flat.amount(function, TreeColumn::time), 3.75);
  EXPECT_DOUBLE_EQ(flat.amount(function, TreeColumn::gpu), 4);
  EXPECT_TRUE(flat.children(function).empty());
}

TEST(ContextTree, LargeAndDeepTreesAndNoneAtAll) {
  ReportProfile report;
  for (const TreeView view : {TreeView::top_down, TreeView::bottom_up, TreeView::flat})
    EXPECT_TRUE(ContextRows(ContextTree(report), view).roots().empty());
  report.contexts = {context(0, Kind::root, "program")};
  for (uint32_t i = 0; i < 20'000; ++i) report.contexts.push_back(context(i, Kind::frame, "again", 1));
  const ContextTree tree(report);
  EXPECT_DOUBLE_EQ(tree.inclusive(1).cpu_s, 20'000);
  ContextRows up(tree, TreeView::bottom_up), down(tree, TreeView::top_down);
  ASSERT_EQ(up.roots().size(), 1u);
  EXPECT_DOUBLE_EQ(up.row(up.roots()[0]).inclusive.cpu_s, 20'000);
  EXPECT_EQ(down.hot_path(0, TreeColumn::cpu).size(), 20'001u);
  report.contexts[5].parent = 77;  // of a damaged report
  EXPECT_DOUBLE_EQ(ContextTree(report).inclusive(0).cpu_s, 20'000);
}

TEST(ContextTree, NamesReadBack) {
  for (const TreeColumn column : all_tree_columns()) EXPECT_EQ(tree_column_named(name_of(column)), column);
  EXPECT_EQ(tree_view_named("bottom-up"), TreeView::bottom_up);
  EXPECT_EQ(tree_view_named("up"), std::nullopt);
  EXPECT_EQ(tree_column_named(""), std::nullopt);
}

}  // namespace
}  // namespace diogenes
