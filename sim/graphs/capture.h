// What a graph is made of, and how a stream that is captured makes one.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "calls/objects.h"

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

// What enqueue() does on a capturing stream. Wants the device lock.
CUresult capture_work(Stream& stream, Work work);
// Leaves the capture, on all its streams.
void end_capture(const std::shared_ptr<Capture>& capture);

}  // namespace diogenes::sim
