// Graphs whose nodes the driver tells: their launch is one piece of work.
#include <deque>

#include "agent/driver_calls.h"
#include "agent/necessity/testing/fixture.h"

namespace diogenes::agent::testing {
namespace {

struct FakeNode {
  CUgraphNodeType type;
  std::vector<uint64_t> parameters;
  std::vector<void*> pointers;
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  uint64_t child = 0;
  bool updatable = false;
};
std::map<uint64_t, std::deque<FakeNode>> fakes;  // by graph

FakeNode& of(CUgraphNode node) { return *reinterpret_cast<FakeNode*>(node); }

CUresult get_nodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  auto found = fakes.find(reinterpret_cast<uint64_t>(graph));
  if (found == fakes.end()) return CUDA_ERROR_INVALID_VALUE;
  *count = found->second.size();
  size_t i = 0;
  for (FakeNode& node : found->second)
    if (nodes) nodes[i++] = reinterpret_cast<CUgraphNode>(&node);
  return CUDA_SUCCESS;
}
CUresult get_type(CUgraphNode node, CUgraphNodeType* type) {
  *type = of(node).type;
  return CUDA_SUCCESS;
}
CUresult get_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  kernel->func = reinterpret_cast<CUfunction>(0xf00 + 16 * of(node).parameters.size());
  world().parameters[0xf00 + 16 * of(node).parameters.size()].assign(of(node).parameters.size(), 8);
  kernel->kernelParams = of(node).pointers.data();
  return CUDA_SUCCESS;
}
CUresult get_attribute(CUgraphNode node, CUlaunchAttributeID, CUlaunchAttributeValue* value) {
  value->deviceUpdatableKernelNode.deviceUpdatable = of(node).updatable;
  return CUDA_SUCCESS;
}
CUresult get_copy(CUgraphNode node, CUDA_MEMCPY3D* copy) {
  *copy = of(node).copy;
  return CUDA_SUCCESS;
}
CUresult get_fill(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* fill) {
  *fill = of(node).fill;
  return CUDA_SUCCESS;
}
CUresult get_child(CUgraphNode node, CUgraph* graph) {
  *graph = reinterpret_cast<CUgraph>(of(node).child);
  return CUDA_SUCCESS;
}

struct GraphVerdicts : Necessity {
  static constexpr uint64_t kGraph = 0x9000, kInner = 0x9100, kOther = 0x9200, kExec = 0xa000;
  uint64_t a = 0, b = 0;

  void SetUp() override {
    Necessity::SetUp();
    fakes.clear();
    fakes[kGraph], fakes[kInner], fakes[kOther];
    driver_calls.graph_get_nodes = get_nodes;
    driver_calls.graph_node_get_type = get_type;
    driver_calls.graph_kernel_node_get_params = get_kernel;
    driver_calls.graph_kernel_node_get_attribute = get_attribute;
    driver_calls.graph_memcpy_node_get_params = get_copy;
    driver_calls.graph_memset_node_get_params = get_fill;
    driver_calls.graph_child_node_get_graph = get_child;
    a = t.device(kBytes), b = t.device(kBytes);
  }
  FakeNode& add(uint64_t graph, CUgraphNodeType type) {
    fakes[graph].push_back({type, {}, {}});
    return fakes[graph].back();
  }
  FakeNode& kernel(uint64_t graph, std::vector<uint64_t> parameters) {
    FakeNode& node = add(graph, CU_GRAPH_NODE_TYPE_KERNEL);
    node.parameters = std::move(parameters);
    for (uint64_t& parameter : node.parameters) node.pointers.push_back(&parameter);
    return node;
  }
  static CUDA_MEMCPY3D down(void* to, uint64_t from) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = from;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = to;
    copy.WidthInBytes = kBytes, copy.Height = copy.Depth = 1;
    return copy;
  }
  void copy_down(uint64_t graph, void* to, uint64_t from) {
    add(graph, CU_GRAPH_NODE_TYPE_MEMCPY).copy = down(to, from);
  }
  void instantiate(uint64_t graph = kGraph, uint64_t flags = 0) {
    uint64_t executable = kExec;
    t.call("cuGraphInstantiateWithFlags", {t.address(&executable), graph, flags});
  }
  void launch(uint64_t stream) { t.call("cuGraphLaunch", {kExec, stream}); }
};

TEST_F(GraphVerdicts, ACopyToTheHostIsWatched) {
  void* host = t.pinned(kBytes);
  kernel(kGraph, {a});
  copy_down(kGraph, host, a);
  instantiate();
  launch(kX);
  auto used = t.synchronize(kX);
  EXPECT_TRUE(t.touch(host));
  launch(kX);
  auto unused = t.synchronize(kX);
  EXPECT_EQ(t.reasons(used), kCpuAccess);
  EXPECT_EQ(t.reasons(unused), kNotNeeded);
}

TEST_F(GraphVerdicts, ACopyFromTheHostToo) {
  void* host = t.pinned(kBytes);
  CUDA_MEMCPY3D& copy = add(kGraph, CU_GRAPH_NODE_TYPE_MEMCPY).copy;
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = host;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstDevice = a;
  copy.WidthInBytes = kBytes, copy.Height = copy.Depth = 1;
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_FALSE(t.touch(host, false));
  EXPECT_TRUE(t.touch(host, true));
  EXPECT_EQ(t.reasons(wait), kSourceReuse);
}

TEST_F(GraphVerdicts, AGraphThatIsNotKnown) {
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, OrderByWhatItsNodesName) {
  kernel(kGraph, {a});
  instantiate();
  launch(kX);
  auto apart = t.synchronize(kX);
  t.launch(kY, {b});
  auto other = t.synchronize(kY);
  launch(kX);
  auto shared = t.synchronize(kX);
  t.launch(kZ, {a});
  EXPECT_EQ(t.reasons(apart), kNotNeeded);
  EXPECT_EQ(t.reasons(other), kNotNeeded);
  EXPECT_EQ(t.reasons(shared), kOrder);
}

TEST_F(GraphVerdicts, AGraphInAGraph) {
  void* host = t.pinned(kBytes);
  copy_down(kInner, host, a);
  add(kGraph, CU_GRAPH_NODE_TYPE_GRAPH).child = kInner;
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.touch(host));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(GraphVerdicts, AGraphInItselfEnds) {
  add(kGraph, CU_GRAPH_NODE_TYPE_GRAPH).child = kGraph;
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, KernelsThatTheDeviceMayChange) {
  kernel(kGraph, {a}).updatable = true;
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, AGraphThatTheDeviceMayLaunch) {
  kernel(kGraph, {a});
  instantiate(kGraph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, ConditionalNodesAreNotKnown) {
  add(kGraph, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, AHostNodeIsAHostFunction) {
  add(kGraph, CU_GRAPH_NODE_TYPE_HOST);
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kHostFunction);
}

TEST_F(GraphVerdicts, CopiesToPageableMemoryAreNotWatched) {
  copy_down(kGraph, t.pageable(kBytes), a);
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, AfterAnUpdateItDoesWhatTheOtherGraphDoes) {
  void *before = t.pinned(kBytes), *behind = t.pinned(kBytes);
  copy_down(kGraph, before, a);
  copy_down(kOther, behind, a);
  instantiate();
  t.call("cuGraphExecUpdate_v2", {kExec, kOther, 0});
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_FALSE(t.guarded(before));
  EXPECT_TRUE(t.touch(behind));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(GraphVerdicts, ANodesNewParametersAreAdded) {
  void *before = t.pinned(kBytes), *behind = t.pinned(kBytes);
  copy_down(kGraph, before, a);
  instantiate();
  CUDA_MEMCPY3D copy = down(behind, a);
  t.call("cuGraphExecMemcpyNodeSetParams", {kExec, 0x1, t.address(&copy), 0});
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.touch(behind));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

TEST_F(GraphVerdicts, ParametersOfAnotherKindMakeItUnknown) {
  kernel(kGraph, {a});
  instantiate();
  t.call("cuGraphExecNodeSetParams", {kExec, 0x1, 0x2});
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, ADestroyedGraphsHandleMayComeAgain) {
  kernel(kGraph, {a});
  instantiate();
  t.call("cuGraphExecDestroy", {kExec});
  launch(kX);  // of one that was made out of sight
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, MoreCopiesThanAreKept) {
  std::vector<void*> hosts;
  for (int i = 0; i < 65; ++i) copy_down(kGraph, t.pinned(kBytes), a);
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_EQ(t.reasons(wait), kUndecoded);
}

TEST_F(GraphVerdicts, AFillOfManagedMemory) {
  void* memory = t.managed(kBytes);
  CUDA_MEMSET_NODE_PARAMS& fill = add(kGraph, CU_GRAPH_NODE_TYPE_MEMSET).fill;
  fill.dst = t.address(memory), fill.elementSize = 4, fill.width = kBytes / 4, fill.height = 1;
  instantiate();
  launch(kX);
  auto wait = t.synchronize(kX);
  EXPECT_TRUE(t.touch(memory));
  EXPECT_EQ(t.reasons(wait), kCpuAccess);
}

}  // namespace
}  // namespace diogenes::agent::testing
