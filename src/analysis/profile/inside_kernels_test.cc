// Contexts inside kernels: no time is lost, and what is left out stays with what is around it.
#include "analysis/profile/inside_kernels.h"

#include <gtest/gtest.h>

namespace diogenes {
namespace {

using Kind = ReportContext::Kind;
using Inside = ReportKernelNode::Kind;

ReportKernelNode node(uint32_t parent, Inside kind, double own, double all, int line = 0) {
  ReportKernelNode made;
  made.parent = parent;
  made.kind = kind;
  made.file = "/home/me/axpy.cu";
  made.function = "axpy";
  made.line = line;
  made.own.samples = own;
  made.all.samples = all;
  return made;
}

// 100 samples: 20 in the kernel itself, a loop with 5 and two lines of 60 and 10, 5 too small to be shown.
std::vector<ReportGpuWork> axpy() {
  ReportKernelSamples kernel;
  kernel.nodes = {node(0, Inside::kernel, 20, 100), node(0, Inside::loop, 5, 75, 12),
                  node(1, Inside::line, 60, 60, 14), node(1, Inside::line, 10, 10, 15),
                  node(0, Inside::rest, 5, 5)};
  kernel.nodes[1].last_line = 18;
  std::vector<ReportGpuWork> work(2);
  work[0].inside = std::move(kernel);
  return work;
}
// Launched in two places, for 2 s and 1 s; a copy takes 3 s.
std::vector<ReportContext> contexts() {
  std::vector<ReportContext> made(4);
  made[0].kind = Kind::root;
  for (uint32_t i : {1, 2, 3}) {
    made[i].kind = Kind::gpu;
    made[i].work = i == 3 ? 1 : 0;
    made[i].gpu_s = i == 1 ? 2 : i == 2 ? 1 : 3;
  }
  return made;
}
double all_time(const std::vector<ReportContext>& contexts) {
  double sum = 0;
  for (const ReportContext& one : contexts) sum += one.gpu_s;
  return sum;
}

TEST(InsideKernels, EachLaunchPathSharesItsTimeBySamples) {
  std::vector<ReportContext> found = contexts();
  add_inside_kernels(found, axpy(), 100);
  ASSERT_EQ(found.size(), 10u);
  EXPECT_DOUBLE_EQ(all_time(found), 6);
  EXPECT_DOUBLE_EQ(found[1].gpu_s, 0.5);  // 20 and 5 of 100
  EXPECT_EQ(found[3].gpu_s, 3);
  const ReportContext &loop = found[4], &line = found[5];
  EXPECT_EQ(loop.kind, Kind::gpu_loop);
  EXPECT_EQ(loop.name, "loop at axpy.cu:12 to 18");
  EXPECT_EQ(loop.parent, 1u);
  EXPECT_EQ(loop.work, 0);
  EXPECT_EQ(loop.place, 1);
  EXPECT_DOUBLE_EQ(loop.gpu_s, 0.1);
  EXPECT_EQ(line.name, "axpy.cu:14");
  EXPECT_EQ(line.parent, 4u);
  EXPECT_DOUBLE_EQ(line.gpu_s, 1.2);
  EXPECT_EQ(found[7].parent, 2u);
  EXPECT_DOUBLE_EQ(found[8].gpu_s, 0.6);
}

// The largest three: the loop of both places, 1.5 s and .75 s, and one line, 1.2 s.
TEST(InsideKernels, WhatIsLeftOutStaysWithWhatIsAroundIt) {
  std::vector<ReportContext> found = contexts();
  add_inside_kernels(found, axpy(), 3);
  ASSERT_EQ(found.size(), 7u);
  EXPECT_DOUBLE_EQ(all_time(found), 6);
  EXPECT_DOUBLE_EQ(found[4].gpu_s, 0.3);  // 5 and 10
  EXPECT_DOUBLE_EQ(found[6].gpu_s, 0.75);
}

TEST(InsideKernels, WithoutSamplesNothingIsAdded) {
  std::vector<ReportContext> found = contexts();
  found[1].work = 99;
  std::vector<ReportGpuWork> work(2);
  add_inside_kernels(found, work, 100);
  work[0].inside.emplace();
  add_inside_kernels(found, work, 100);
  work[0].inside->nodes.resize(3);  // of 0 samples
  add_inside_kernels(found, work, 100);
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(all_time(found), 6);
}

}  // namespace
}  // namespace diogenes
