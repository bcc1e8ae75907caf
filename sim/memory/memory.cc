// Allocation and release: device, pitched, host, registered, managed, stream-ordered.
#include "memory_map.h"

#include <algorithm>

#include "calls/wait.h"
#include "pools.h"

namespace diogenes::sim {
namespace {

constexpr size_t kPitchAlignment = 512;

CUresult allocate(ApiCall& call, CUdeviceptr* address, size_t bytes) {
  call.costs(kAllocateCost);
  if (!address || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  uintptr_t base = memory_map().allocate_device(bytes, call.context, false);
  if (!base && late_mode) {  // what is to be freed late is freed now
    late_finish_all();
    base = memory_map().allocate_device(bytes, call.context, false);
  }
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = base;
  return CUDA_SUCCESS;
}

CUresult allocate_host(void** pointer, size_t bytes, unsigned flags) {
  DRIVER_CALL(a_context);
  call.costs(kHostAllocateCost);
  constexpr unsigned known =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (!pointer || bytes == 0 || (flags & ~known)) return CUDA_ERROR_INVALID_VALUE;
  const uintptr_t base = memory_map().allocate_host(bytes, MemoryKind::pinned, flags, call.context);
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<void*>(base);
  return CUDA_SUCCESS;
}

// The release of a call whose wait is left out: when the GPU is past all that was given to it.
CUresult release_late(uintptr_t base, MemoryKind kind, const std::vector<OpPtr>& after) {
  auto op = std::make_shared<Op>();
  if (kind == MemoryKind::registered) late_retire(base);
  op->work.effect = [base, kind] {
    memory_map().release(base, [](const Allocation&) { return true; });
    if (kind == MemoryKind::registered) late_forget_retired(base);
    return Effect::done;
  };
  device().submit(op, after);
  return CUDA_SUCCESS;
}

// Waits until nothing of the owner's work can touch the memory any more, then gives it back.
CUresult release(ApiCall& call, uintptr_t base, int64_t cost, CUresult otherwise,
                 bool (*accept)(const Allocation&)) {
  call.costs(cost);
  const auto found = memory_map().find(base);
  if (!found || found->base != base || !accept(*found)) return otherwise;
  std::vector<OpPtr> ops;
  {
    const Held held = hold_device();
    if (call.context->captures > 0) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    ops = outstanding(found->context ? *found->context : *call.context);
  }
  if (late_mode && call.listed() != Listed::no) {
    const Held held = hold_device();
    if (call.listed() == Listed::skip || move_wait(ops)) return release_late(base, found->kind, ops);
  }
  const CUresult error = wait_for(call, ops);
  if (error != CUDA_SUCCESS) return error;
  return memory_map().release(base, accept) ? CUDA_SUCCESS : otherwise;
}

CUresult register_host(void* pointer, size_t bytes, unsigned flags) {
  DRIVER_CALL(a_context);
  call.costs(kRegisterCost);
  constexpr unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                             CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  if (!pointer || bytes == 0 || (flags & ~known)) return CUDA_ERROR_INVALID_VALUE;
  const auto base = reinterpret_cast<uintptr_t>(pointer);
  if (memory_map().register_host(base, bytes, flags, call.context)) return CUDA_SUCCESS;
  if (late_mode) {  // it may be about to be unregistered
    late_finish_all();
    if (memory_map().register_host(base, bytes, flags, call.context)) return CUDA_SUCCESS;
  }
  return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult allocate_async(Null null, CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                        CUstream stream_handle) {
  DRIVER_CALL(a_context);
  call.costs(kAsyncAllocateCost);
  if (!address || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, stream_handle, null);
  if (!stream || !is_pool(pool)) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) return CUDA_ERROR_NOT_SUPPORTED;
  const uintptr_t base = memory_map().allocate_device(bytes, call.context, true);
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  count_pool_use(pool, base, bytes);
  *address = base;
  return CUDA_SUCCESS;
}

CUresult free_async(Null null, CUdeviceptr address, CUstream stream_handle) {
  DRIVER_CALL(a_context);
  call.costs(kAsyncAllocateCost);
  const auto found = memory_map().find(address);
  if (!found || found->base != address || found->kind != MemoryKind::device) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, stream_handle, null);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) return CUDA_ERROR_NOT_SUPPORTED;
  Work work;
  work.effect = [address] {
    memory_map().release(address, [](const Allocation&) { return true; });
    end_pool_use(address);
    return Effect::done;
  };
  return enqueue(stream, std::move(work));
}

CUresult prefetch(Null null, CUdeviceptr address, size_t bytes, CUstream stream_handle) {
  DRIVER_CALL(a_context);
  call.costs(kSubmitCost);
  const auto found = memory_map().find(address);
  if (!found || found->kind != MemoryKind::managed || bytes == 0 ||
      bytes > found->bytes - (address - found->base))
    return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const StreamPtr stream = find_stream(*call.context, stream_handle, null);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  Work work;
  work.engine = Engine::host_to_device;
  work.duration_ns = copy_engine_ns(CopyDirection::host_to_device, HostMemory::pinned, bytes);
  return enqueue(stream, std::move(work));
}

CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice) {
  DRIVER_CALL(a_context);
  const auto found = memory_map().find(address);
  if (!found || found->kind != MemoryKind::managed || bytes == 0 ||
      bytes > found->bytes - (address - found->base) || advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
      advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  DRIVER_CALL(a_context);
  if (!free_bytes || !total_bytes) return CUDA_ERROR_INVALID_VALUE;
  memory_map().usage(free_bytes, total_bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  DRIVER_CALL(a_context);
  return allocate(call, address, bytes);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                            unsigned element) {
  DRIVER_CALL(a_context);
  if (!pitch || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16))
    return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  return allocate(call, address, *pitch * height);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  DRIVER_CALL(a_context);
  if (address == 0) return CUDA_SUCCESS;
  const CUresult result = release(
      call, address, kFreeCost, CUDA_ERROR_INVALID_VALUE,
      [](const Allocation& a) { return a.kind == MemoryKind::device || a.kind == MemoryKind::managed; });
  if (result == CUDA_SUCCESS) end_pool_use(address);
  return result;
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) { return allocate_host(pointer, bytes, 0); }
CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return allocate_host(pointer, bytes, flags);
}

CUresult cuMemFreeHost(void* pointer) {
  DRIVER_CALL(a_context);
  return release(call, reinterpret_cast<uintptr_t>(pointer), kHostFreeCost, CUDA_ERROR_INVALID_VALUE,
                 [](const Allocation& a) { return a.kind == MemoryKind::pinned; });
}

CUresult cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return register_host(pointer, bytes, flags);
}
CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return register_host(pointer, bytes, flags);
}

CUresult cuMemHostUnregister(void* pointer) {
  DRIVER_CALL(a_context);
  return release(call, reinterpret_cast<uintptr_t>(pointer), kRegisterCost,
                 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                 [](const Allocation& a) { return a.kind == MemoryKind::registered; });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  DRIVER_CALL(a_context);
  call.costs(kAllocateCost);
  if (!address || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
    return CUDA_ERROR_INVALID_VALUE;
  const uintptr_t base = memory_map().allocate_host(bytes, MemoryKind::managed, flags, call.context);
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = base;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate_async(kLegacy, address, bytes, current_pool(), stream);
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate_async(kPerThread, address, bytes, current_pool(), stream);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_async(kLegacy, address, bytes, pool, stream);
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                      CUstream stream) {
  return allocate_async(kPerThread, address, bytes, pool, stream);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) { return free_async(kLegacy, address, stream); }
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return free_async(kPerThread, address, stream);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice, CUstream stream) {
  return prefetch(kLegacy, address, bytes, stream);
}
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t bytes, CUdevice, CUstream stream) {
  return prefetch(kPerThread, address, bytes, stream);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned, CUstream stream) {
  return prefetch(kLegacy, address, bytes, stream);
}
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned,
                                    CUstream stream) {
  return prefetch(kPerThread, address, bytes, stream);
}
CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice) {
  return advise(address, bytes, advice);
}
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation) {
  return advise(address, bytes, advice);
}
