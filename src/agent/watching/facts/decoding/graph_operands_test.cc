// What the launch of a graph is recorded to do, by its nodes.
#include <gtest/gtest.h>

#include "agent/watching/facts/testing/collected_program.h"

namespace diogenes::agent::testing {
namespace {

constexpr uint64_t kBytes = 8192;
constexpr uint32_t kUnknown = kAnyDevice | kAnyHost;

struct Graphs : ::testing::Test, Program {
  const uint64_t a = device(kBytes), b = device(kBytes);

  // It may do anything: nobody listed it.
  void expect_unknown() {
    const Recorded launched = launch_graph();
    EXPECT_EQ(launched.flags & kUnknown, kUnknown);
  }
};

TEST_F(Graphs, KernelsAndCopiesAreListed) {
  void* host = pinned(kBytes);
  kernel_node(kGraph, {a});
  download_node(kGraph, host, b, kBytes);
  instantiate();
  const Recorded launched = launch_graph();
  EXPECT_NE(launched.call.flags & kGivesWork, 0);
  EXPECT_NE(launched.flags & kHasKernel, 0u);
  EXPECT_EQ(launched.flags & kUnknown, 0u);
  ASSERT_NE(launched.operand(a), nullptr);
  EXPECT_EQ(launched.operand(a)->flags & (kReads | kWrites | kArgument), kReads | kWrites | kArgument);
  ASSERT_NE(launched.operand(b), nullptr);
  EXPECT_EQ(launched.operand(b)->flags & (kReads | kWrites), kReads);
  ASSERT_NE(launched.operand(address(host)), nullptr);
  EXPECT_NE(launched.operand(address(host))->flags & kWrites, 0);
  synchronize(kStream);
  EXPECT_TRUE(is_guarded(host));
}

TEST_F(Graphs, ACopyFromTheHostIsWatchedForWritesAlone) {
  void* host = pinned(kBytes);
  Node& node = this->node(kGraph, CU_GRAPH_NODE_TYPE_MEMCPY);
  node.copy.srcMemoryType = CU_MEMORYTYPE_HOST, node.copy.srcHost = host;
  node.copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, node.copy.dstDevice = a;
  node.copy.WidthInBytes = kBytes, node.copy.Height = node.copy.Depth = 1;
  instantiate();
  launch_graph();
  synchronize(kStream);
  EXPECT_FALSE(touch(host, false));
  EXPECT_TRUE(touch(host, true));
}

TEST_F(Graphs, OneThatIsNotKnownMayDoAnything) { expect_unknown(); }

TEST_F(Graphs, AGraphInAGraph) {
  download_node(kInner, pinned(kBytes), a, kBytes);
  node(kGraph, CU_GRAPH_NODE_TYPE_GRAPH).child = kInner;
  instantiate();
  EXPECT_NE(launch_graph().operand(a), nullptr);
}

TEST_F(Graphs, AGraphInItselfEnds) {
  node(kGraph, CU_GRAPH_NODE_TYPE_GRAPH).child = kGraph;
  instantiate();
  expect_unknown();
}

TEST_F(Graphs, KernelsThatTheDeviceMayChange) {
  kernel_node(kGraph, {a}).updatable = true;
  instantiate();
  expect_unknown();
}

TEST_F(Graphs, OneThatTheDeviceMayLaunch) {
  kernel_node(kGraph, {a});
  instantiate(kGraph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
  expect_unknown();
}

TEST_F(Graphs, ConditionalNodesAreNotKnown) {
  node(kGraph, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  instantiate();
  expect_unknown();
}

TEST_F(Graphs, AHostNodeIsAHostFunction) {
  node(kGraph, CU_GRAPH_NODE_TYPE_HOST);
  instantiate();
  EXPECT_NE(launch_graph().flags & kRunsOnHost, 0u);
}

TEST_F(Graphs, AfterAnUpdateItDoesWhatTheOtherGraphDoes) {
  download_node(kGraph, pinned(kBytes), a, kBytes);
  download_node(kOther, pinned(kBytes), b, kBytes);
  instantiate();
  call("cuGraphExecUpdate_v2", {kExecutable, kOther, 0});
  const Recorded launched = launch_graph();
  EXPECT_EQ(launched.operand(a), nullptr);
  EXPECT_NE(launched.operand(b), nullptr);
}

TEST_F(Graphs, ANodesNewParametersAreAdded) {
  void *before = pinned(kBytes), *behind = pinned(kBytes);
  CUDA_MEMCPY3D copy = download_node(kGraph, before, a, kBytes).copy;
  instantiate();
  copy.dstHost = behind;
  call("cuGraphExecMemcpyNodeSetParams", {kExecutable, 0x1, address(&copy), 0});
  const Recorded launched = launch_graph();
  EXPECT_NE(launched.operand(address(before)), nullptr);
  EXPECT_NE(launched.operand(address(behind)), nullptr);
}

TEST_F(Graphs, ParametersOfAnotherKindMakeItUnknown) {
  kernel_node(kGraph, {a});
  instantiate();
  call("cuGraphExecNodeSetParams", {kExecutable, 0x1, 0x2});
  expect_unknown();
}

TEST_F(Graphs, ADestroyedGraphsHandleMayComeAgain) {
  kernel_node(kGraph, {a});
  instantiate();
  call("cuGraphExecDestroy", {kExecutable});
  expect_unknown();  // one that was made out of sight
}

TEST_F(Graphs, MoreCopiesThanAreKept) {
  for (int i = 0; i < 65; ++i) download_node(kGraph, pinned(kBytes), a, kBytes);
  instantiate();
  expect_unknown();
}

TEST_F(Graphs, AFillOfManagedMemory) {
  void* memory = managed(kBytes);
  Node& node = this->node(kGraph, CU_GRAPH_NODE_TYPE_MEMSET);
  node.fill.dst = address(memory), node.fill.elementSize = 4, node.fill.width = kBytes / 4;
  node.fill.height = 1;
  instantiate();
  launch_graph();
  synchronize(kStream);
  EXPECT_TRUE(is_guarded(memory));
}

}  // namespace
}  // namespace diogenes::agent::testing
