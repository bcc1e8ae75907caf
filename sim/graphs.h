// Stream capture and graphs: a graph is the list of the work that was captured, each with the nodes that it
// follows; a launch submits all of it again. Source: the stream capture chapter of the driver API reference;
// explicit graph building (cuGraphAdd*) is not simulated.
#pragma once
#include <memory>
#include <vector>

#include "state.h"

namespace diogenes::sim {

struct GraphNode {
  Work work;
  std::vector<size_t> after;  // indices of earlier nodes
};

struct Graph {
  std::vector<GraphNode> nodes;
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
