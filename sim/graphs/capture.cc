#include "capture.h"

namespace diogenes::sim {

CUresult capture_work(Stream& stream, Work work) {
  Capture& capture = *stream.capture;
  if (capture.invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!work.node) {  // an operation on memory, or one that has no node of its own
    auto other = std::make_shared<NodeDescription>();
    other->type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    work.node = std::move(other);
  }
  capture.graph->nodes.push_back({std::move(work), stream.capture_tail, driver().next_id++});
  stream.capture_tail = {capture.graph->nodes.size() - 1};
  return CUDA_SUCCESS;
}

void end_capture(const std::shared_ptr<Capture>& capture) {
  if (capture->origin && capture->origin->blocking()) --capture->origin->context->captures;
  capture->origin = nullptr;
  for (const StreamPtr& stream : capture->streams) {
    stream->capture.reset();
    stream->capture_tail.clear();
  }
  capture->streams.clear();
}

}  // namespace diogenes::sim
