// What the driver says of an address.
#include "memory/memory_map.h"
#include "state.h"

namespace diogenes::sim {
namespace {

template <typename T>
CUresult put(void* value, T known) {
  *static_cast<T*>(value) = known;
  return CUDA_SUCCESS;
}

CUresult attribute(void* value, CUpointer_attribute wanted, CUdeviceptr address) {
  const auto found = memory_map().find(address);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  const bool on_device = found->kind == MemoryKind::device || found->kind == MemoryKind::managed;
  switch (wanted) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(value, reinterpret_cast<CUcontext>(found->context));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put<unsigned>(value, on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put<CUdeviceptr>(value, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (found->kind == MemoryKind::device) return CUDA_ERROR_INVALID_VALUE;
      return put(value, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put<unsigned>(value, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put<unsigned long long>(value, found->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put<unsigned>(value, found->kind == MemoryKind::managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put<int>(value, 0);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put<unsigned>(value, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put<CUdeviceptr>(value, found->base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put<size_t>(value, found->bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put<unsigned>(value, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put<unsigned long long>(value, 0);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put<unsigned>(value, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put<unsigned>(value, 3);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put<CUmemoryPool>(value, nullptr);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// What cuPointerGetAttributes gives for an address that is not the driver's.
void put_nothing(void* value, CUpointer_attribute wanted) {
  switch (wanted) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      put<unsigned>(value, 0);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put<int>(value, CU_DEVICE_INVALID);
      break;
    default:
      put<uint64_t>(value, 0);
      break;
  }
}

}  // namespace
}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute wanted, CUdeviceptr address) {
  DRIVER_CALL(a_context);
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  return attribute(value, wanted, address);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* wanted, void** values,
                                CUdeviceptr address) {
  DRIVER_CALL(a_context);
  if (!wanted || !values) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i)
    if (values[i] && attribute(values[i], wanted[i], address) != CUDA_SUCCESS)
      put_nothing(values[i], wanted[i]);
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute wanted, CUdeviceptr address) {
  DRIVER_CALL(a_context);
  if (!value || wanted != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !memory_map().find(address))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  DRIVER_CALL(a_context);
  const auto found = memory_map().find(address);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (base) *base = found->base;
  if (bytes) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags) {
  DRIVER_CALL(a_context);
  if (!address || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto found = memory_map().find(reinterpret_cast<uintptr_t>(pointer));
  if (!found || (found->kind != MemoryKind::pinned && found->kind != MemoryKind::registered))
    return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<uintptr_t>(pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  DRIVER_CALL(a_context);
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  const auto found = memory_map().find(reinterpret_cast<uintptr_t>(pointer));
  if (!found || found->kind != MemoryKind::pinned) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->flags;
  return CUDA_SUCCESS;
}
