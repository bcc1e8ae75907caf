// Contexts: made, destroyed, current on a thread; the primary one.
#include <algorithm>

#include "graphs/graphs.h"
#include "memory/memory_map.h"
#include "memory/modules.h"
#include "wait.h"

namespace diogenes::sim {
namespace {

constexpr int64_t kContextCost =
    200000;  // a real one takes far longer; nothing is learnt from waiting for it

CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

// Wants the device lock.
Context* make_context(unsigned flags, bool primary) {
  auto* context = new Context;
  context->flags = flags | CU_CTX_MAP_HOST;
  context->id = driver().next_id++;
  context->primary = primary;
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context;
  context->legacy->legacy = true;
  context->legacy->id = driver().next_id++;
  context->limits = {{CU_LIMIT_STACK_SIZE, 1024},
                     {CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20},
                     {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
                     {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
                     {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
                     {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
                     {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
  driver().contexts[handle_of(context)] = context;
  return context;
}

CUresult create(CUcontext* handle, unsigned flags, CUdevice device_number) {
  DRIVER_CALL(nothing);
  call.costs(kContextCost);
  if (!handle || (flags & ~unsigned{CU_CTX_FLAGS_MASK})) return CUDA_ERROR_INVALID_VALUE;
  if (device_number != 0) return CUDA_ERROR_INVALID_DEVICE;
  Context* context;
  {
    const Held held = hold_device();
    context = make_context(flags, false);
  }
  *handle = handle_of(context);
  thread_state().contexts.push_back(context);
  return wait_for(call, {});  // its creation waits too
}

// Waits for all of a context's work and takes its things away.
CUresult tear_down(ApiCall& call, Context& context) {
  std::vector<OpPtr> ops;
  {
    const Held held = hold_device();
    ops = outstanding(context);
  }
  if (late_mode) call.always_waits();
  wait_for(call, ops);
  const Held held = hold_device();
  context.destroyed.store(true, std::memory_order_relaxed);
  for (const auto& [unused, stream] : context.streams)
    if (stream->capture) end_capture(stream->capture);
  context.streams.clear();
  context.active.clear();
  context.orphans.clear();
  std::erase_if(driver().events, [&](const auto& event) { return event.second->context == &context; });
  forget_modules(context);
  memory_map().release_all(&context);
  return CUDA_SUCCESS;
}

CUresult destroy(CUcontext handle) {
  DRIVER_CALL(nothing);
  call.costs(kContextCost);
  Context* context;
  {
    const Held held = hold_device();
    context = find_context(handle);
  }
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  tear_down(call, *context);
  auto& stack = thread_state().contexts;
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult push(CUcontext handle) {
  DRIVER_CALL(nothing);
  const Held held = hold_device();
  Context* context = find_context(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  thread_state().contexts.push_back(context);
  return CUDA_SUCCESS;
}

CUresult pop(CUcontext* handle) {
  DRIVER_CALL(nothing);
  auto& stack = thread_state().contexts;
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle) *handle = handle_of(stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult release_primary(CUdevice device_number, bool all) {
  DRIVER_CALL(nothing);
  if (device_number != 0) return CUDA_ERROR_INVALID_DEVICE;
  Context* last = nullptr;
  {
    const Held held = hold_device();
    Driver& state = driver();
    if (!state.primary) return all ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (all || --state.primary_references == 0) last = std::exchange(state.primary, nullptr);
    if (last) state.primary_references = 0;
  }
  return last ? tear_down(call, *last) : CUDA_SUCCESS;
}

CUresult set_primary_flags(CUdevice device_number, unsigned flags) {
  DRIVER_CALL(nothing);
  if (device_number != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  driver().primary_flags = flags;
  if (driver().primary) driver().primary->flags = flags | CU_CTX_MAP_HOST;
  return CUDA_SUCCESS;
}

CUresult synchronize(ApiCall& call, Context& context) {
  call.costs(kSynchronizeCost);
  std::vector<OpPtr> ops;
  {
    const Held held = hold_device();
    if (context.captures > 0) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    ops = outstanding(context);
  }
  return wait_for(call, ops);
}

}  // namespace
}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return create(context, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned flags, CUdevice device) {
  return parameters ? CUDA_ERROR_NOT_SUPPORTED : create(context, flags, device);
}
CUresult cuCtxDestroy(CUcontext context) { return destroy(context); }
CUresult cuCtxDestroy_v2(CUcontext context) { return destroy(context); }
CUresult cuCtxPushCurrent(CUcontext context) { return push(context); }
CUresult cuCtxPushCurrent_v2(CUcontext context) { return push(context); }
CUresult cuCtxPopCurrent(CUcontext* context) { return pop(context); }
CUresult cuCtxPopCurrent_v2(CUcontext* context) { return pop(context); }

CUresult cuCtxSetCurrent(CUcontext handle) {
  DRIVER_CALL(nothing);
  auto& stack = thread_state().contexts;
  if (!handle) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  const Held held = hold_device();
  Context* context = find_context(handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty()) stack.push_back(context);
  stack.back() = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  DRIVER_CALL(nothing);
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  const auto& stack = thread_state().contexts;
  *context = stack.empty() ? nullptr : handle_of(stack.back());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  DRIVER_CALL(a_context);
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  *device = call.context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
  DRIVER_CALL(a_context);
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  *flags = call.context->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags) {
  DRIVER_CALL(a_context);
  if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
  call.context->flags = flags | CU_CTX_MAP_HOST;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  DRIVER_CALL(a_context);
  if (!id) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Context* context = handle ? find_context(handle) : call.context;
  if (!context) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  DRIVER_CALL(a_context);
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  DRIVER_CALL(a_context);
  return synchronize(call, *call.context);
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  DRIVER_CALL(nothing);
  {
    const Held held = hold_device();
    call.context = find_context(handle);
  }
  return call.context ? synchronize(call, *call.context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  DRIVER_CALL(a_context);
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const auto found = call.context->limits.find(limit);
  if (found == call.context->limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *value = found->second;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  DRIVER_CALL(a_context);
  const Held held = hold_device();
  const auto found = call.context->limits.find(limit);
  if (found == call.context->limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  found->second = value;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* configuration) {
  DRIVER_CALL(a_context);
  if (!configuration) return CUDA_ERROR_INVALID_VALUE;
  *configuration = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  DRIVER_CALL(a_context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  DRIVER_CALL(a_context);
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) {
  DRIVER_CALL(a_context);
  return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuCtxDisablePeerAccess(CUcontext) {
  DRIVER_CALL(a_context);
  return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device_number) {
  DRIVER_CALL(nothing);
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  if (device_number != 0) return CUDA_ERROR_INVALID_DEVICE;
  {
    const Held held = hold_device();
    Driver& state = driver();
    ++state.primary_references;
    if (state.primary) {
      *handle = handle_of(state.primary);
      return CUDA_SUCCESS;
    }
    call.costs(kContextCost);
    state.primary = make_context(state.primary_flags, true);
    *handle = handle_of(state.primary);
  }
  return wait_for(call, {});
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return release_primary(device, false); }
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return release_primary(device, false); }
CUresult cuDevicePrimaryCtxReset(CUdevice device) { return release_primary(device, true); }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) { return release_primary(device, true); }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return set_primary_flags(device, flags);
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return set_primary_flags(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device_number, unsigned* flags, int* active) {
  DRIVER_CALL(nothing);
  if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
  if (device_number != 0) return CUDA_ERROR_INVALID_DEVICE;
  const Held held = hold_device();
  *flags = driver().primary_flags;
  *active = driver().primary != nullptr;
  return CUDA_SUCCESS;
}
