// Graphs: nodes, each with its work and the nodes that it follows; a launch submits all of it. Nodes come
// from stream capture, or are added one by one (graph_nodes.cc). Source: the chapters on stream capture and
// on graphs of the driver API reference. Not simulated: nodes of allocations, events, semaphores and
// conditions.
#pragma once
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "calls/state.h"
#include "device/ptx.h"
#include "memory/transfer.h"

namespace diogenes::sim {

struct Graph;

// What a node is, as the driver tells it again.
struct NodeDescription {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};  // its kernelParams: `pointers`
  std::vector<char> parameters;
  std::vector<void*> pointers;
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  CUDA_HOST_NODE_PARAMS host{};
  std::shared_ptr<Graph> child;
};

struct GraphNode {
  Work work;                  // and its description
  std::vector<size_t> after;  // indices
  uint64_t id = 0;            // the same in executable copies
};

// A node's handle is its address in the graph that it was added to.
struct Graph {
  std::deque<GraphNode> nodes;
};

struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  uint64_t id = 0;
  bool invalidated = false;
  Stream* origin = nullptr;
  std::vector<StreamPtr> streams;  // the origin and those that joined
};

// Guarded by the device lock, as all else.
struct Graphs {
  std::unordered_map<CUgraph, std::shared_ptr<Graph>> graphs;
  std::unordered_map<CUgraphExec, std::shared_ptr<Graph>> executables;
};
Graphs& all_graphs();

// What enqueue() does on a capturing stream. Wants the device lock.
CUresult capture_work(Stream& stream, Work work);
// Leaves the capture, on all its streams.
void end_capture(const std::shared_ptr<Capture>& capture);

// A copy that can be launched: child graphs opened, nodes behind all that they follow. Null: a circle.
std::shared_ptr<Graph> executable_of(const Graph& graph);

// The work of a node, described; what a captured call describes itself by. No lock held, but for the first.
CUresult kernel_work(const Context& context, const CUDA_KERNEL_NODE_PARAMS_v2& kernel,
                     Work* work);  // launch.cc
std::shared_ptr<const NodeDescription> description_of(const CUDA_KERNEL_NODE_PARAMS_v2& kernel,
                                                      const std::vector<PtxParameter>& wanted,
                                                      std::vector<char> parameters);
CUresult copy_work(const CUDA_MEMCPY3D& copy, Work* work);            // copies.cc
CUresult copy_work(const Transfer& transfer, Work* work);             // transfer.cc
CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS& fill, Work* work);  // transfer.cc
Work host_work(const CUDA_HOST_NODE_PARAMS& host);                    // graph_nodes.cc
std::shared_ptr<const NodeDescription> description_of(const Transfer& transfer);

}  // namespace diogenes::sim
