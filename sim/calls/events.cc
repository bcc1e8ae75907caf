// Events: an event is the operation that its newest record submitted.
#include <algorithm>

#include "graphs/graphs.h"
#include "wait.h"

namespace diogenes::sim {
namespace {

CUresult destroy(CUevent handle) {
  DRIVER_CALL(a_context);
  call.costs(kEventCreateCost);
  const Held held = hold_device();
  return driver().events.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// The stream, when its queue has a place; null: it, or the event, is not known.
StreamPtr stream_with_room(ApiCall& call, Null null, CUstream stream_handle, CUevent event) {
  StreamPtr stream;
  {
    const Held held = hold_device();
    stream = find_stream(*call.context, stream_handle, null);
    if (!stream || !find_event(event)) return nullptr;
  }
  wait_for_room(call, *stream);
  return stream;
}

CUresult record(Null null, CUevent handle, CUstream stream_handle) {
  DRIVER_CALL(a_context);
  call.costs(kEventRecordCost);
  const StreamPtr stream = stream_with_room(call, null, stream_handle, handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const Held held = hold_device();
  const EventPtr event = find_event(handle);
  if (!event || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->captured = stream->capture;
    event->captured_after = stream->capture_tail;
    return CUDA_SUCCESS;
  }
  event->captured.reset();
  // On an idle stream, too, the GPU has to come to it first: right behind the call it is not complete.
  Work work;
  work.latency_ns = kEventRecordCost + kLaunchLatency;
  return enqueue(stream, std::move(work), &event->op);
}

CUresult stream_wait(Null null, CUstream stream_handle, CUevent handle, unsigned flags) {
  DRIVER_CALL(a_context);
  call.costs(kEventRecordCost);
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  const StreamPtr stream = stream_with_room(call, null, stream_handle, handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const Held held = hold_device();
  const EventPtr event = find_event(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->captured && event->captured->origin) {  // its capture is under way: the stream joins it
    if (!stream->capture) {
      if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      stream->capture = event->captured;
      stream->capture_tail.clear();
      event->captured->streams.push_back(stream);
    } else if (stream->capture != event->captured) {
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    for (const size_t node : event->captured_after)
      if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(), node) ==
          stream->capture_tail.end())
        stream->capture_tail.push_back(node);
    return CUDA_SUCCESS;
  }
  if (stream->capture) {
    stream->capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (!event->op || event->op->done.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  return enqueue(stream, Work{}, nullptr, {event->op});
}

CUresult elapsed(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  DRIVER_CALL(a_context);
  if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const EventPtr start = find_event(start_handle), end = find_event(end_handle);
  if (!start || !end || !start->op || !end->op || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
    return CUDA_ERROR_INVALID_HANDLE;
  device().advance(now_ns());  // in the adversarial mode, too, it fails unless a wait came before it
  if (!start->op->done.load(std::memory_order_relaxed) || !end->op->done.load(std::memory_order_relaxed))
    return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(end->op->end_ns - start->op->end_ns) / 1e6f;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  DRIVER_CALL(a_context);
  call.costs(kEventCreateCost);
  constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (!handle || (flags & ~known)) return CUDA_ERROR_INVALID_VALUE;
  auto event = std::make_shared<Event>();
  event->context = call.context;
  event->flags = flags;
  *handle = reinterpret_cast<CUevent>(event.get());
  const Held held = hold_device();
  driver().events[*handle] = std::move(event);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) { return destroy(event); }
CUresult cuEventDestroy_v2(CUevent event) { return destroy(event); }

CUresult cuEventRecord(CUevent event, CUstream stream) { return record(kLegacy, event, stream); }
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) { return record(kPerThread, event, stream); }
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return flags > CU_EVENT_RECORD_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : record(kLegacy, event, stream);
}
CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags) {
  return flags > CU_EVENT_RECORD_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : record(kPerThread, event, stream);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return stream_wait(kLegacy, stream, event, flags);
}
CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags) {
  return stream_wait(kPerThread, stream, event, flags);
}

CUresult cuEventQuery(CUevent handle) {
  DRIVER_CALL(a_context);
  call.costs(kQueryCost);
  const Held held = hold_device();
  const EventPtr event = find_event(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->captured) return CUDA_ERROR_CAPTURED_EVENT;
  device().advance(now_ns());
  if (late_mode && event->op && !event->op->done.load(std::memory_order_relaxed) && late_asked_enough())
    device().demand(&event->op, 1);
  if (event->op && !event->op->done.load(std::memory_order_relaxed)) return CUDA_ERROR_NOT_READY;
  return static_cast<CUresult>(call.context->sticky_error.load(std::memory_order_relaxed));
}

CUresult cuEventSynchronize(CUevent handle) {
  DRIVER_CALL(a_context);
  call.costs(kSynchronizeCost);
  std::vector<OpPtr> ops;
  bool sleeps = false;
  {
    const Held held = hold_device();
    const EventPtr event = find_event(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (event->captured) return CUDA_ERROR_CAPTURED_EVENT;
    if (event->op) ops.push_back(event->op);
    sleeps = (event->flags & CU_EVENT_BLOCKING_SYNC) != 0;
  }
  const CUresult result = wait_unless_done(call, ops, sleeps);
  flush_prints();  // also where it found all done; a stream's wait does not
  return result;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
