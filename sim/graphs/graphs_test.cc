// Graphs that are built node by node: order, child graphs, what the driver tells of nodes, and changing them.
#include <algorithm>
#include <cstring>

#include "testing/test_support.h"

namespace diogenes::sim {
namespace {

class GraphNodes : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    OK(cuMemAlloc(&data, 4096));
    OK(cuMemsetD8(data, 0, 4096));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuGraphCreate(&graph, 0));
  }
  CUgraphNode add_fill(CUgraph to, CUdeviceptr where, uint32_t value, std::vector<CUgraphNode> after = {}) {
    uint64_t words = 4, ns = 1000;
    void* parameters[] = {&where, &value, &words, &ns};
    const CUDA_KERNEL_NODE_PARAMS_v2 kernel = described(parameters);
    CUgraphNode node = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphAddKernelNode(&node, to, after.data(), after.size(), &kernel));
    return node;
  }
  CUDA_KERNEL_NODE_PARAMS_v2 described(void** parameters) const {
    return {fill, 1, 1, 1, 32, 1, 1, 0, parameters, nullptr, nullptr, nullptr};
  }
  CUDA_MEMCPY3D down(void* to, CUdeviceptr from, size_t bytes) const {
    CUDA_MEMCPY3D move{};
    move.srcMemoryType = CU_MEMORYTYPE_DEVICE, move.srcDevice = from;
    move.dstMemoryType = CU_MEMORYTYPE_HOST, move.dstHost = to;
    move.WidthInBytes = bytes, move.Height = move.Depth = 1;
    return move;
  }
  void launch_and_wait() {
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
  }

  CUdeviceptr data = 0;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};

TEST_F(GraphNodes, RunInTheOrderOfTheirDependencies) {
  void* host = nullptr;
  OK(cuMemAllocHost(&host, 4096));
  const CUDA_MEMCPY3D move = down(host, data, 16);
  CUgraphNode copied = nullptr;
  OK(cuGraphAddMemcpyNode(&copied, graph, nullptr, 0, &move, context));
  const CUgraphNode filled = add_fill(graph, data, 7);
  OK(cuGraphAddDependencies(graph, &filled, &copied, 1));  // the later node first
  OK(cuGraphInstantiate(&exec, graph, 0));
  launch_and_wait();
  EXPECT_EQ(7u, static_cast<uint32_t*>(host)[3]);
}

TEST_F(GraphNodes, ACircleIsNoGraph) {
  const CUgraphNode a = add_fill(graph, data, 1), b = add_fill(graph, data, 2, {a});
  OK(cuGraphAddDependencies(graph, &b, &a, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, graph, 0));
}

TEST_F(GraphNodes, AChildGraphIsACopyOfItsOwn) {
  CUgraph child = nullptr, seen = nullptr;
  OK(cuGraphCreate(&child, 0));
  const CUgraphNode first = add_fill(child, data, 3);
  CUgraphNode node = nullptr;
  OK(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  add_fill(child, data, 4, {first});  // too late
  CUDA_MEMSET_NODE_PARAMS set{data + 16, 0, 9, 4, 4, 1};
  CUgraphNode behind = nullptr;
  OK(cuGraphAddMemsetNode(&behind, graph, &node, 1, &set, context));
  OK(cuGraphDestroy(child));
  OK(cuGraphChildGraphNodeGetGraph(node, &seen));
  size_t count = 0;
  OK(cuGraphGetNodes(seen, nullptr, &count));
  EXPECT_EQ(1u, count);
  OK(cuGraphInstantiate(&exec, graph, 0));
  launch_and_wait();
  EXPECT_EQ(3u, word_at(data));
  EXPECT_EQ(9u, word_at(data + 28));
}

TEST_F(GraphNodes, TellWhatTheyAre) {
  const CUgraphNode node = add_fill(graph, data + 64, 5);
  CUgraphNodeType type{};
  OK(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_KERNEL, type);
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  OK(cuGraphKernelNodeGetParams(node, &kernel));
  EXPECT_EQ(fill, kernel.func);
  uint64_t destination = 0;
  memcpy(&destination, kernel.kernelParams[0], sizeof destination);
  EXPECT_EQ(data + 64, destination);
  CUDA_MEMCPY3D move{};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphMemcpyNodeGetParams(node, &move));
}

TEST_F(GraphNodes, OfACaptureToo) {
  void* host = nullptr;
  OK(cuMemAllocHost(&host, 4096));
  CUgraph captured = nullptr;
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  fill_words(data, 5, 4, 1000, stream);
  OK(cuMemcpyDtoHAsync(host, data, 16, stream));
  OK(cuMemsetD32Async(data, 8, 4, stream));
  OK(cuStreamEndCapture(stream, &captured));
  CUgraphNode nodes[4] = {};
  size_t count = 4;
  OK(cuGraphGetNodes(captured, nodes, &count));
  ASSERT_EQ(3u, count);
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  CUDA_MEMCPY3D move{};
  CUDA_MEMSET_NODE_PARAMS set{};
  OK(cuGraphKernelNodeGetParams(nodes[0], &kernel));
  OK(cuGraphMemcpyNodeGetParams(nodes[1], &move));
  OK(cuGraphMemsetNodeGetParams(nodes[2], &set));
  EXPECT_EQ(host, move.dstHost);
  EXPECT_EQ(data, move.srcDevice);
  EXPECT_EQ(16u, move.WidthInBytes);
  EXPECT_EQ(data, set.dst);
  EXPECT_EQ(4u * 4u, set.width * set.elementSize);
}

TEST_F(GraphNodes, AnExecutableGraphGetsOtherParameters) {
  const CUgraphNode node = add_fill(graph, data, 5);
  OK(cuGraphInstantiate(&exec, graph, 0));
  CUdeviceptr where = data + 32;
  uint32_t value = 6;
  uint64_t words = 4, ns = 1000;
  void* parameters[] = {&where, &value, &words, &ns};
  const CUDA_KERNEL_NODE_PARAMS_v2 kernel = described(parameters);
  OK(cuGraphExecKernelNodeSetParams(exec, node, &kernel));
  launch_and_wait();
  EXPECT_EQ(0u, word_at(data));
  EXPECT_EQ(6u, word_at(data + 32));
}

TEST_F(GraphNodes, AnExecutableGraphIsUpdated) {
  add_fill(graph, data, 5);
  OK(cuGraphInstantiate(&exec, graph, 0));
  CUgraph other = nullptr, larger = nullptr;
  OK(cuGraphCreate(&other, 0));
  OK(cuGraphCreate(&larger, 0));
  add_fill(other, data + 64, 6);
  add_fill(larger, data, 1), add_fill(larger, data, 1);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_NE(CUDA_SUCCESS, cuGraphExecUpdate(exec, larger, &info));
  OK(cuGraphExecUpdate(exec, other, &info));
  launch_and_wait();
  EXPECT_EQ(0u, word_at(data));
  EXPECT_EQ(6u, word_at(data + 64));
}

TEST_F(GraphNodes, AHostNodeIsCalledInItsTurn) {
  static uint32_t* host;
  static uint32_t seen;
  void* memory = nullptr;
  OK(cuMemAllocHost(&memory, 4096));
  host = static_cast<uint32_t*>(memory);
  const CUgraphNode filled = add_fill(graph, data, 21);
  const CUDA_MEMCPY3D move = down(host, data, 16);
  CUgraphNode copied = nullptr, called = nullptr;
  OK(cuGraphAddMemcpyNode(&copied, graph, &filled, 1, &move, context));
  const CUDA_HOST_NODE_PARAMS what{[](void*) { seen = host[0]; }, nullptr};
  OK(cuGraphAddHostNode(&called, graph, &copied, 1, &what));
  CUDA_HOST_NODE_PARAMS told{};
  OK(cuGraphHostNodeGetParams(called, &told));
  EXPECT_EQ(what.fn, told.fn);
  OK(cuGraphInstantiate(&exec, graph, 0));
  launch_and_wait();
  EXPECT_EQ(21u, seen);
}

}  // namespace
}  // namespace diogenes::sim
