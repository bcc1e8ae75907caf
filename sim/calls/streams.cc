// Streams: creation, order, synchronization, host functions, waits on memory.
#include <cstring>

#include "graphs/graphs.h"
#include "memory/memory_map.h"
#include "wait.h"

namespace diogenes::sim {
namespace {

CUresult create(CUstream* handle, unsigned flags, int priority) {
  DRIVER_CALL(a_context);
  call.costs(kStreamCreateCost);
  if (!handle || (flags & ~unsigned{CU_STREAM_NON_BLOCKING})) return CUDA_ERROR_INVALID_VALUE;
  auto stream = std::make_shared<Stream>();
  stream->context = call.context;
  stream->flags = flags;
  stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
  stream->id = driver().next_id++;
  *handle = reinterpret_cast<CUstream>(stream.get());
  const Held held = hold_device();
  call.context->streams[*handle] = std::move(stream);
  return CUDA_SUCCESS;
}

CUresult destroy(CUstream handle) {
  DRIVER_CALL(a_context);
  call.costs(kStreamCreateCost);
  if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
    return CUDA_ERROR_INVALID_HANDLE;
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, handle, kLegacy);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  retire_stream(*stream);
  stream->context->streams.erase(handle);
  return CUDA_SUCCESS;
}

CUresult synchronize(Null null, CUstream handle) {
  DRIVER_CALL(a_context);
  call.costs(kSynchronizeCost);
  std::vector<OpPtr> ops;
  {
    const Held held = hold_device();
    const StreamPtr stream = find_stream(*call.context, handle, null);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult error = allowed_outside_capture(*stream)) return error;
    ops = outstanding(*stream);
  }
  return wait_unless_done(call, ops);
}

CUresult query(Null null, CUstream handle) {
  DRIVER_CALL(a_context);
  call.costs(kQueryCost);
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, handle, null);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult error = allowed_outside_capture(*stream)) return error;
  device().advance(now_ns());
  if (late_mode && !outstanding(*stream).empty() && late_asked_enough()) {
    const std::vector<OpPtr> ops = outstanding(*stream);
    device().demand(ops.data(), ops.size());
  }
  if (!outstanding(*stream).empty()) return CUDA_ERROR_NOT_READY;
  return static_cast<CUresult>(call.context->sticky_error.load(std::memory_order_relaxed));
}

// Reads one thing of a stream.
template <typename T, typename Read>
CUresult get(Null null, CUstream handle, T* value, Read read) {
  DRIVER_CALL(a_context);
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, handle, null);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *value = read(*stream);
  return CUDA_SUCCESS;
}

CUresult submit(Null null, CUstream handle, Work work, int64_t cost) {
  DRIVER_CALL(a_context);
  call.costs(cost);
  StreamPtr stream;
  {
    const Held held = hold_device();
    stream = find_stream(*call.context, handle, null);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  }
  wait_for_room(call, *stream);
  const Held held = hold_device();
  return enqueue(stream, std::move(work));
}

CUresult host_function(Null null, CUstream handle, CUhostFn function, void* data) {
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  return submit(null, handle, host_work({function, data}), kSubmitCost);
}

CUresult callback(Null null, CUstream handle, CUstreamCallback function, void* data, unsigned flags) {
  if (!function || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.kind = Kind::callback;
  work.function = [function, data, handle](CUresult status) { function(handle, status, data); };
  return submit(null, handle, std::move(work), kSubmitCost);
}

template <typename T>
CUresult wait_value(Null null, CUstream handle, CUdeviceptr address, T value, unsigned flags) {
  if (address % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.kind = Kind::polled;
  work.effect = [address, value, flags]() {
    T now;
    if (!memory_map().read(&now, address, sizeof now)) return Effect::illegal_address;
    bool met = false;
    switch (flags & 3) {
      case CU_STREAM_WAIT_VALUE_GEQ:
        met = static_cast<std::make_signed_t<T>>(now - value) >= 0;
        break;
      case CU_STREAM_WAIT_VALUE_EQ:
        met = now == value;
        break;
      case CU_STREAM_WAIT_VALUE_AND:
        met = (now & value) != 0;
        break;
      default:
        met = (~(now | value)) != 0;
        break;
    }
    return met ? Effect::done : Effect::not_yet;
  };
  return submit(null, handle, std::move(work), kSubmitCost);
}

template <typename T>
CUresult write_value(Null null, CUstream handle, CUdeviceptr address, T value) {
  if (address % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  work.duration_ns = 500;
  work.is_polled_for = true;
  work.effect = [address, value]() {
    return memory_map().write(address, &value, sizeof value) ? Effect::done : Effect::illegal_address;
  };
  return submit(null, handle, std::move(work), kWriteValueCost);
}

CUresult attach(Null null, CUstream handle, CUdeviceptr address) {
  const auto found = memory_map().find(address);
  if (!found || found->kind != MemoryKind::managed) return CUDA_ERROR_INVALID_VALUE;
  return submit(null, handle, Work{}, kSubmitCost);
}

unsigned flags_of(const Stream& stream) { return stream.flags; }
int priority_of(const Stream& stream) { return stream.priority; }
unsigned long long id_of(const Stream& stream) { return stream.id; }
CUcontext context_of(const Stream& stream) { return reinterpret_cast<CUcontext>(stream.context); }
CUdevice device_of(const Stream& stream) { return stream.context->device; }

}  // namespace
}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return create(stream, flags, 0); }
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}
CUresult cuStreamDestroy(CUstream stream) { return destroy(stream); }
CUresult cuStreamDestroy_v2(CUstream stream) { return destroy(stream); }

// Both variants of a function that takes a stream: the null stream is the legacy one, or the calling
// thread's.
#define BOTH(name, implementation, parameters, ...)                         \
  CUresult name parameters { return implementation(kLegacy, __VA_ARGS__); } \
  CUresult name##_ptsz parameters { return implementation(kPerThread, __VA_ARGS__); }

BOTH(cuStreamSynchronize, synchronize, (CUstream stream), stream)
BOTH(cuStreamQuery, query, (CUstream stream), stream)
BOTH(cuLaunchHostFunc, host_function, (CUstream stream, CUhostFn function, void* data), stream, function,
     data)
BOTH(cuStreamAddCallback, callback, (CUstream stream, CUstreamCallback function, void* data, unsigned flags),
     stream, function, data, flags)
BOTH(cuStreamGetFlags, get, (CUstream stream, unsigned* flags), stream, flags, flags_of)
BOTH(cuStreamGetPriority, get, (CUstream stream, int* priority), stream, priority, priority_of)
BOTH(cuStreamGetId, get, (CUstream stream, unsigned long long* id), stream, id, id_of)
BOTH(cuStreamGetCtx, get, (CUstream stream, CUcontext* context), stream, context, context_of)
BOTH(cuStreamGetDevice, get, (CUstream stream, CUdevice* device), stream, device, device_of)
BOTH(cuStreamWaitValue32_v2, wait_value<uint32_t>,
     (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags), stream, address, value, flags)
BOTH(cuStreamWaitValue64_v2, wait_value<uint64_t>,
     (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags), stream, address, value, flags)
BOTH(cuStreamWriteValue32_v2, write_value<uint32_t>,
     (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned), stream, address, value)
BOTH(cuStreamWriteValue64_v2, write_value<uint64_t>,
     (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned), stream, address, value)
BOTH(cuStreamAttachMemAsync, attach, (CUstream stream, CUdeviceptr address, size_t, unsigned), stream,
     address)
