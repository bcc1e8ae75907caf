#include "corrector/waits/marks.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "corrector/memory/own_pages.h"
#include "corrector/waits/wait_clock.h"

namespace diogenes::corrector {

namespace {

constexpr uint64_t kLegacy = 1, kPerThread = 2;  // handles that name a default stream whatever the function

// Errors of the GPU's work, after which a context does no more: CUDA_ERROR_ECC_UNCORRECTABLE; ILLEGAL_ADDRESS to
// LAUNCH_FAILED; UNKNOWN.
constexpr int kUncorrectableMemory = 214, kFirstFailure = 700, kLastFailure = 719, kUnknown = 999;

template <typename Function>
bool find(const CorrectorServices& services, Function& function, const char* name,
          const char* older = nullptr) {
  uintptr_t address = services.driver_symbol(name);
  if (address == 0 && older) address = services.driver_symbol(older);
  function = reinterpret_cast<Function>(address);
  return address != 0;
}

CUstream as_stream(uint64_t handle) { return reinterpret_cast<CUstream>(handle); }

uint32_t this_thread() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

}  // namespace

bool Marks::start(const CorrectorServices& services) {
  services_ = &services;
  return find(services, write_value_, "cuStreamWriteValue32_v2", "cuStreamWriteValue32") &&
         find(services, wait_value_, "cuStreamWaitValue32_v2", "cuStreamWaitValue32") &&
         find(services, stream_query_, "cuStreamQuery") &&
         find(services, stream_synchronize_, "cuStreamSynchronize") &&
         find(services, event_create_, "cuEventCreate") && find(services, event_record_, "cuEventRecord") &&
         find(services, event_synchronize_, "cuEventSynchronize") &&
         find(services, ctx_get_current_, "cuCtxGetCurrent") &&
         find(services, ctx_set_current_, "cuCtxSetCurrent");
}

bool Marks::allocate() {
  CUresult (*host_alloc)(void**, size_t, unsigned) = nullptr;
  constexpr size_t kBytes = kStreams * 64;
  if (!find(*services_, host_alloc, "cuMemHostAlloc")) return false;
  void* memory = pinned_pages(host_alloc, kBytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (!memory) return false;
  memset(memory, 0, kBytes);
  words_ = static_cast<volatile uint32_t*>(memory);
  return true;
}

uint64_t Marks::current_context() const {
  CUcontext context = nullptr;
  return ctx_get_current_(&context) == CUDA_SUCCESS ? reinterpret_cast<uint64_t>(context) : 0;
}

int Marks::stream_of(const CorrectedCall& call) {
  const bool own = call.stream == 0 && call.per_thread;
  const uint64_t handle = call.stream ? call.stream : own ? kPerThread : kLegacy;
  const uint64_t context = current_context();
  const uint32_t thread = own ? this_thread() : 0;
  const auto is = [&](const Stream& stream) {
    return stream.used && stream.handle == handle && stream.thread == thread &&
           (call.stream || stream.context == context);
  };
  if (is(streams_[last_])) return last_;
  int unused = -1;
  for (int i = 0; i < kStreams; ++i) {
    if (is(streams_[i])) return last_ = i;
    // A stream that was destroyed may still be about to write its last mark.
    const bool is_idle = !words_ || *word(i) == streams_[i].sequence;
    if (streams_[i].ended && is_idle) streams_[i].used = streams_[i].working = streams_[i].ended = false;
    if (!streams_[i].used && is_idle && unused < 0) unused = i;
  }
  if (unused < 0) return -1;
  Stream& stream = streams_[unused];
  stream = {handle, context, thread, stream.sequence, true, false, false, 0};  // its word goes on counting
  for (int i = 0; i < kStreams; ++i) ordered_[unused][i] = words_ ? *word(i) : 0;
  return last_ = unused;
}

template <typename Call>
void Marks::in_context(uint64_t context, Call call) const {
  CUcontext current = nullptr;
  ctx_get_current_(&current);
  const bool other = reinterpret_cast<uint64_t>(current) != context;
  if (other) ctx_set_current_(reinterpret_cast<CUcontext>(context));
  call();
  if (other) ctx_set_current_(current);
}

void Marks::synchronize(int stream) const {
  const Stream& asked = streams_[stream];
  in_context(asked.context, [&] { stream_synchronize_(as_stream(asked.handle)); });
}

bool Marks::is_working(uint64_t handle) const {
  for (const Stream& stream : streams_)
    if (stream.used && stream.working && !stream.ended && stream.handle == handle) return true;
  return false;
}

bool Marks::end_stream(uint64_t handle) {
  for (int i = 0; i < kStreams; ++i) {
    Stream& stream = streams_[i];
    if (!stream.used || stream.ended || stream.handle != handle) continue;
    Mark last;
    if (stream.working && !put(i, last)) return false;
    stream.ended = stream.working;
    stream.used = stream.working;
    stream.handle = 0;  // no call names it any more
  }
  return true;
}

bool Marks::is_idle() const {
  for (int i = 0; i < kStreams; ++i) {
    const Stream& stream = streams_[i];
    if (!stream.used || !stream.working || stream.thread != 0) continue;
    if (stream.ended ? !reached({i, stream.sequence})
                     : stream_query_(as_stream(stream.handle)) == CUDA_ERROR_NOT_READY)
      return false;
  }
  return true;
}

bool Marks::several() const {
  int used = 0;
  for (const Stream& stream : streams_) used += stream.used;
  return used > 1;
}

void Marks::note_done(uint64_t given) {
  const uint64_t context = current_context();
  for (Stream& stream : streams_)
    if (stream.context == context && stream.given <= given) stream.working = false;
}

bool Marks::put(int stream, Mark& mark) {
  Stream& to = streams_[stream];
  if (to.ended) return mark = {stream, to.sequence}, true;
  // The handle of a default stream means that of the current context.
  if ((to.handle == kLegacy || to.handle == kPerThread) && to.context != current_context()) return false;
  const auto address = reinterpret_cast<uintptr_t>(word(stream));
  const int64_t begun = now();
  const CUresult written =
      write_value_(as_stream(to.handle), static_cast<CUdeviceptr>(address), to.sequence + 1, 0);
  in_driver_ns_ += now() - begun;
  if (written != CUDA_SUCCESS) return false;
  mark = {stream, ++to.sequence};
  return true;
}

bool Marks::place(int stream) {
  const Stream& at = streams_[stream];
  Place& place = places_[stream];
  if (at.ended) return false;
  const int64_t begun = now();
  bool there = place.event && place.context == at.context;
  if (!there) {
    place.context = at.context;
    in_context(at.context,
               [&] { there = event_create_(&place.event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS; });
  }
  there = there && event_record_(place.event, as_stream(at.handle)) == CUDA_SUCCESS;
  if (!there) place.event = nullptr;
  in_driver_ns_ += now() - begun;
  place.behind = at.sequence;
  return there;
}

void Marks::await_place(int stream) const {
  const Place& place = places_[stream];
  in_context(place.context, [&] { event_synchronize_(place.event); });
}

Order Marks::order_behind(int stream, const Mark& mark) {
  const Stream& later = streams_[stream];
  if (mark.stream == stream || reached(mark)) return Order::given;
  if (static_cast<int32_t>(ordered_[stream][mark.stream] - mark.sequence) >= 0) return Order::given;
  const auto address = reinterpret_cast<uintptr_t>(word(mark.stream));
  const int64_t begun = now();
  const CUresult given = wait_value_(as_stream(later.handle), static_cast<CUdeviceptr>(address),
                                     mark.sequence, CU_STREAM_WAIT_VALUE_GEQ);
  in_driver_ns_ += now() - begun;
  if (given != CUDA_SUCCESS) return Order::refused;
  ordered_[stream][mark.stream] = mark.sequence;
  return Order::made;
}

int Marks::working(uint64_t context, int (&streams)[kMostMarks]) const {
  int count = 0;
  for (int i = 0; i < kStreams; ++i) {
    const Stream& stream = streams_[i];
    if (!stream.used) continue;
    if (stream.context != context) return -1;  // to which one a stream belongs is not known
    if (!stream.working || (stream.ended && reached({i, stream.sequence}))) continue;
    if (count == kMostMarks || (stream.thread != 0 && stream.thread != this_thread())) return -1;
    streams[count++] = i;
  }
  return count;
}

bool Marks::failed(int stream) const {
  const Stream& asked = streams_[stream];
  if (ctx_set_current_(reinterpret_cast<CUcontext>(asked.context)) != CUDA_SUCCESS) return false;
  // A thread's own default stream means the asking thread's; an error is the context's.
  const int result = stream_query_(as_stream(asked.thread != 0 || asked.ended ? kLegacy : asked.handle));
  return result == kUncorrectableMemory || (result >= kFirstFailure && result <= kLastFailure) ||
         result == kUnknown;
}

}  // namespace diogenes::corrector
