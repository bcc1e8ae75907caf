#include "state.h"

#include <unistd.h>

#include <algorithm>

#include "graphs/capture.h"

namespace diogenes::sim {

uint32_t driver_phase = 0;

ThreadState::~ThreadState() {
  // Their work, where it is not done, stays in the context's list until it is.
  if (__atomic_load_n(&driver_phase, __ATOMIC_ACQUIRE) != kReady) return;
  const Held held = hold_device();
  default_streams.clear();
}

namespace {

constinit thread_local ThreadState* the_state = nullptr;

// The main thread's is there until the process is gone: its destructors run before the handlers of exit(), which may call the
// driver, as what runs at the end of another thread may behind this.
struct EndOfThread {
  ~EndOfThread() {
    if (gettid() == getpid()) return;
    delete the_state;
    the_state = nullptr;
  }
};

}  // namespace

ThreadState& thread_state() {
  if (!the_state) [[unlikely]] {
    static thread_local EndOfThread end;
    the_state = new ThreadState;
  }
  return *the_state;
}

void ApiCall::find_context() {
  const auto& stack = thread_state().contexts;
  context = stack.empty() ? nullptr : stack.back();
  if (!context)
    error = CUDA_ERROR_INVALID_CONTEXT;
  else if (context->destroyed.load(std::memory_order_relaxed))
    error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

Context* find_context(CUcontext handle) {
  const auto found = driver().contexts.find(handle);
  if (found == driver().contexts.end() || found->second->destroyed.load(std::memory_order_relaxed))
    return nullptr;
  return found->second;
}

StreamPtr per_thread_stream(Context& context) {
  auto& streams = thread_state().default_streams;
  for (const auto& [owner, stream] : streams)
    if (owner == &context) return stream;
  auto stream = std::make_shared<Stream>();
  stream->context = &context;
  stream->per_thread = true;
  stream->id = driver().next_id++;
  streams.emplace_back(&context, stream);
  return stream;
}

StreamPtr find_stream(Context& context, CUstream handle, Null null) {
  if (handle == CU_STREAM_LEGACY || (!handle && null == Null::legacy)) return context.legacy;
  if (handle == CU_STREAM_PER_THREAD || !handle) return per_thread_stream(context);
  if (const auto found = context.streams.find(handle); found != context.streams.end()) return found->second;
  for (const auto& [unused, other] : driver().contexts)
    if (const auto found = other->streams.find(handle); found != other->streams.end()) return found->second;
  return nullptr;
}

EventPtr find_event(CUevent handle) {
  const auto found = driver().events.find(handle);
  return found == driver().events.end() ? nullptr : found->second;
}

namespace {

bool is_done(const OpPtr& op) { return !op || op->done.load(std::memory_order_relaxed); }

// Forgets the streams of a context that have nothing left to do.
void prune(Context& context) {
  std::erase_if(context.active, [](const StreamPtr& stream) {
    if (!is_done(stream->last)) return false;
    stream->active = false;
    return true;
  });
  std::erase_if(context.orphans, [](const auto& orphan) { return is_done(orphan.first); });
}

void add_blocking_work(Context& context, const Stream* except, std::vector<OpPtr>* ops) {
  prune(context);
  for (const StreamPtr& stream : context.active)
    if (stream.get() != except && stream->blocking()) ops->push_back(stream->last);
  for (const auto& [op, blocking] : context.orphans)
    if (blocking) ops->push_back(op);
}

}  // namespace

CUresult enqueue(const StreamPtr& stream, Work work, OpPtr* op, std::vector<OpPtr> after) {
  Context& context = *stream->context;
  if (const int error = context.sticky_error.load(std::memory_order_relaxed))
    return static_cast<CUresult>(error);
  if (stream->capture) return capture_work(*stream, std::move(work));
  if (stream->legacy && context.captures > 0) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  after.push_back(stream->last);
  if (stream->legacy)
    add_blocking_work(context, stream.get(), &after);
  else if (stream->blocking())
    after.push_back(context.legacy->last);
  auto submitted = std::make_shared<Op>();
  submitted->work = std::move(work);
  submitted->context = &context;
  submitted->stream = stream;
  stream->queued.fetch_add(1, std::memory_order_relaxed);
  stream->last = submitted;
  if (!stream->active) {
    stream->active = true;
    context.active.push_back(stream);
  }
  device().submit(submitted, after);
  if (op) *op = std::move(submitted);
  return CUDA_SUCCESS;
}

std::vector<OpPtr> outstanding(Stream& stream) {
  std::vector<OpPtr> ops;
  if (!is_done(stream.last)) ops.push_back(stream.last);
  if (stream.legacy) add_blocking_work(*stream.context, &stream, &ops);
  return ops;
}

std::vector<OpPtr> outstanding(Context& context) {
  prune(context);
  std::vector<OpPtr> ops;
  for (const StreamPtr& stream : context.active) ops.push_back(stream->last);
  for (const auto& orphan : context.orphans) ops.push_back(orphan.first);
  return ops;
}

void retire_stream(Stream& stream) {
  Context& context = *stream.context;
  if (stream.capture) end_capture(stream.capture);
  if (!is_done(stream.last)) context.orphans.emplace_back(stream.last, stream.blocking());
  std::erase_if(context.active, [&](const StreamPtr& other) { return other.get() == &stream; });
}

CUresult allowed_outside_capture(Stream& stream) {
  if (stream.capture) {
    stream.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (stream.legacy && stream.context->captures > 0) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  return CUDA_SUCCESS;
}

}  // namespace diogenes::sim
