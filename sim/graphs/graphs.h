// Graphs: nodes, each with its work and the nodes that it follows; a launch submits all of it. Nodes come
// from stream capture, or are added one by one (graph_nodes.cc). Source: the chapters on stream capture and
// on graphs of the driver API reference. Not simulated: nodes of allocations, events, semaphores and
// conditions.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "calls/state.h"
#include "device/ptx.h"
#include "memory/transfer.h"

namespace diogenes::sim {

// Guarded by the device lock, as all else.
struct Graphs {
  std::unordered_map<CUgraph, std::shared_ptr<Graph>> graphs;
  std::unordered_map<CUgraphExec, std::shared_ptr<Graph>> executables;
};
Graphs& all_graphs();

// A copy that can be launched: child graphs opened, nodes behind all that they follow. Null: a circle.
std::shared_ptr<Graph> executable_of(const Graph& graph);

// The work of a node, described; what a captured call describes itself by. No lock held, but for the first.
CUresult kernel_work(const Context& context, const CUDA_KERNEL_NODE_PARAMS_v2& kernel,
                     Work* work);  // launch.cc
std::shared_ptr<const NodeDescription> description_of(const CUDA_KERNEL_NODE_PARAMS_v2& kernel,
                                                      const std::vector<PtxParameter>& wanted,
                                                      std::vector<char> parameters);
CUresult copy_work(const CUDA_MEMCPY3D& copy, Work* work);  // copies.cc
Work host_work(const CUDA_HOST_NODE_PARAMS& host);          // graph_nodes.cc

}  // namespace diogenes::sim
