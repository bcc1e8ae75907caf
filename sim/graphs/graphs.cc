#include "graphs.h"

#include <algorithm>

#include "calls/wait.h"

namespace diogenes::sim {

Graphs& all_graphs() {
  static Graphs* graphs = new Graphs;
  return *graphs;
}

namespace {

// Does every node lead to one of `tail`?
bool all_joined(const Graph& graph, const std::vector<size_t>& tail) {
  std::vector<bool> reached(graph.nodes.size());
  for (const size_t node : tail) reached[node] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (reached[i])
      for (const size_t before : graph.nodes[i].after) reached[before] = true;
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

CUresult stream_status(Null null, CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                       CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  DRIVER_CALL(a_context);
  if (!status) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, handle, null);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->legacy && call.context->captures > 0) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status = !stream->capture               ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (id) *id = stream->capture ? stream->capture->id : 0;
  if (graph) *graph = stream->capture ? reinterpret_cast<CUgraph>(stream->capture->graph.get()) : nullptr;
  if (dependencies) *dependencies = nullptr;
  if (count) *count = 0;
  return CUDA_SUCCESS;
}

CUresult begin(Null null, CUstream handle, CUstreamCaptureMode mode) {
  DRIVER_CALL(a_context);
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, handle, null);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capture = std::make_shared<Capture>();
  stream->capture->mode = mode;
  stream->capture->id = driver().next_id++;
  stream->capture->origin = stream.get();
  stream->capture->streams.push_back(stream);
  stream->capture_tail.clear();
  if (stream->blocking()) ++stream->context->captures;
  return CUDA_SUCCESS;
}

CUresult end(Null null, CUstream handle, CUgraph* graph) {
  DRIVER_CALL(a_context);
  if (!graph) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, handle, null);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  *graph = nullptr;
  if (capture->origin != stream.get()) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  const bool joined = all_joined(*capture->graph, stream->capture_tail);
  end_capture(capture);
  if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph = reinterpret_cast<CUgraph>(capture->graph.get());
  all_graphs().graphs[*graph] = capture->graph;
  return CUDA_SUCCESS;
}

CUresult launch(Null null, CUgraphExec exec, CUstream handle) {
  DRIVER_CALL(a_context);
  call.costs(kGraphLaunchCost);
  StreamPtr stream;
  {
    const Held held = hold_device();
    stream = find_stream(*call.context, handle, null);
    if (!stream || !all_graphs().executables.contains(exec)) return CUDA_ERROR_INVALID_HANDLE;
  }
  wait_for_room(call, *stream);
  const Held held = hold_device();
  const auto found = all_graphs().executables.find(exec);
  if (found == all_graphs().executables.end()) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<Graph> graph = found->second;
  if (stream->capture) {  // a graph inside a graph: its nodes are taken over
    Capture& capture = *stream->capture;
    const std::vector<size_t> before = stream->capture_tail;
    const size_t first = capture.graph->nodes.size();
    for (const GraphNode& node : graph->nodes) {
      std::vector<size_t> after = node.after.empty() ? before : node.after;
      if (!node.after.empty())
        for (size_t& index : after) index += first;
      stream->capture_tail.push_back(capture.graph->nodes.size());
      capture.graph->nodes.push_back({node.work, std::move(after), driver().next_id++});
    }
    return CUDA_SUCCESS;
  }
  OpPtr start;
  Work marker;
  marker.latency_ns = kGraphLaunchCost + kLaunchLatency;
  if (const CUresult error = enqueue(stream, marker, &start)) return error;
  std::vector<OpPtr> ops;
  for (const GraphNode& node : graph->nodes) {
    auto op = std::make_shared<Op>();
    op->work = node.work;
    op->work.latency_ns = 0;
    op->context = call.context;
    std::vector<OpPtr> after{start};
    for (const size_t index : node.after) after.push_back(ops[index]);
    device().submit(op, after);
    ops.push_back(std::move(op));
  }
  return enqueue(stream, Work{}, nullptr, ops);
}

}  // namespace

}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return stream_status(kLegacy, stream, status, nullptr, nullptr, nullptr, nullptr);
}
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
  return stream_status(kPerThread, stream, status, nullptr, nullptr, nullptr, nullptr);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  return stream_status(kLegacy, stream, status, id, graph, dependencies, count);
}
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                        CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  return stream_status(kPerThread, stream, status, id, graph, dependencies, count);
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  if (edges) *edges = nullptr;
  return stream_status(kLegacy, stream, status, id, graph, dependencies, count);
}
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                        CUgraph* graph, const CUgraphNode** dependencies,
                                        const CUgraphEdgeData** edges, size_t* count) {
  if (edges) *edges = nullptr;
  return stream_status(kPerThread, stream, status, id, graph, dependencies, count);
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin(kLegacy, stream, mode);
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return begin(kPerThread, stream, mode);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) { return end(kLegacy, stream, graph); }
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) { return end(kPerThread, stream, graph); }

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  DRIVER_CALL(nothing);
  if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, thread_state().capture_mode);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  DRIVER_CALL(nothing);
  const Held held = hold_device();
  return all_graphs().graphs.erase(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  DRIVER_CALL(nothing);
  const Held held = hold_device();
  return all_graphs().executables.erase(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { return launch(kLegacy, exec, stream); }
CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) { return launch(kPerThread, exec, stream); }

CUresult cuGraphUpload(CUgraphExec exec, CUstream) {
  DRIVER_CALL(a_context);
  const Held held = hold_device();
  return all_graphs().executables.contains(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream) {
  DRIVER_CALL(a_context);
  const Held held = hold_device();
  return all_graphs().executables.contains(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
