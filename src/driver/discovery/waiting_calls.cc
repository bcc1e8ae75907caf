#include "driver/discovery/waiting_calls.h"

#include <stdlib.h>
#include <string.h>

namespace diogenes {
namespace {

constexpr size_t kSmall = 4096, kMiddle = size_t{1} << 20, kLarge = size_t{64} << 20;

using Material = CallMaterial;
const DriverApi& api(const Material& m) { return m.driver->api(); }

template <size_t bytes>
CUresult allocate_device(Material& m) {
  return api(m).cuMemAlloc_v2(&m.allocation, bytes);
}
CUresult allocate_managed(Material& m) {
  return api(m).cuMemAllocManaged(&m.allocation, kMiddle, CU_MEM_ATTACH_GLOBAL);
}
CUresult allocate_host(Material& m) { return api(m).cuMemAllocHost_v2(&m.host, kMiddle); }
CUresult register_host(Material& m) {
  m.host = aligned_alloc(4096, kMiddle);
  memset(m.host, 1, kMiddle);
  return api(m).cuMemHostRegister_v2(m.host, kMiddle, 0);
}
void free_registered(Material& m) { free(m.host); }
CUresult free_device(Material& m) { return api(m).cuMemFree_v2(m.allocation); }
CUresult load_module(Material& m) { return api(m).cuModuleLoadData(&m.module, m.driver->ptx()); }
void unload_module(Material& m) { api(m).cuModuleUnload(m.module); }
CUresult record_spinning(Material& m) { return api(m).cuEventRecord(m.spinning, m.stream); }
CUresult record_blocking(Material& m) { return api(m).cuEventRecord(m.blocking, m.stream); }

template <size_t bytes>
CUresult to_pageable(Material& m) {
  return api(m).cuMemcpyDtoH_v2(m.pageable, m.device, bytes);
}
template <size_t bytes>
CUresult to_pinned(Material& m) {
  return api(m).cuMemcpyDtoH_v2(m.pinned, m.device, bytes);
}
template <size_t bytes>
CUresult from_pageable(Material& m) {
  return api(m).cuMemcpyHtoD_v2(m.device, m.pageable, bytes);
}
template <size_t bytes>
CUresult to_pageable_async(Material& m) {
  return api(m).cuMemcpyDtoHAsync_v2(m.pageable, m.device, bytes, m.stream);
}

#define NEEDS(...) []([[maybe_unused]] const DriverApi& a) -> bool { return __VA_ARGS__; }

const WaitingCall kTable[] = {
    {"cuCtxSynchronize", true, HeldOn::stream, NEEDS(true), nullptr, nullptr,
     [](Material& m) { return api(m).cuCtxSynchronize(); }, nullptr},
    {"cuStreamSynchronize, user stream", true, HeldOn::stream, NEEDS(a.cuStreamSynchronize), nullptr, nullptr,
     [](Material& m) { return api(m).cuStreamSynchronize(m.stream); }, nullptr},
    {"cuStreamSynchronize, default stream", true, HeldOn::default_stream, NEEDS(a.cuStreamSynchronize),
     nullptr, nullptr, [](Material& m) { return api(m).cuStreamSynchronize(nullptr); }, nullptr},
    {"cuEventSynchronize, spinning event", true, HeldOn::stream,
     NEEDS(a.cuEventSynchronize&& a.cuEventRecord), nullptr, record_spinning,
     [](Material& m) { return api(m).cuEventSynchronize(m.spinning); }, nullptr},
    {"cuEventSynchronize, blocking event", true, HeldOn::stream,
     NEEDS(a.cuEventSynchronize&& a.cuEventRecord), nullptr, record_blocking,
     [](Material& m) { return api(m).cuEventSynchronize(m.blocking); }, nullptr},
    {"cuMemcpyDtoH, pageable, 4 KiB", true, HeldOn::default_stream, NEEDS(a.cuMemcpyDtoH_v2), nullptr,
     nullptr, to_pageable<kSmall>, nullptr},
    {"cuMemcpyDtoH, pageable, 64 MiB", true, HeldOn::default_stream, NEEDS(a.cuMemcpyDtoH_v2), nullptr,
     nullptr, to_pageable<kLarge>, nullptr},
    {"cuMemcpyDtoH, pinned, 4 KiB", true, HeldOn::default_stream, NEEDS(a.cuMemcpyDtoH_v2), nullptr, nullptr,
     to_pinned<kSmall>, nullptr},
    {"cuMemcpyDtoH, pinned, 64 MiB", true, HeldOn::default_stream, NEEDS(a.cuMemcpyDtoH_v2), nullptr, nullptr,
     to_pinned<kLarge>, nullptr},
    {"cuMemcpy, device to host", true, HeldOn::default_stream, NEEDS(a.cuMemcpy), nullptr, nullptr,
     [](Material& m) { return api(m).cuMemcpy(reinterpret_cast<CUdeviceptr>(m.pinned), m.device, kSmall); },
     nullptr},
    {"cuMemcpyDtoHAsync, pageable, 4 KiB", true, HeldOn::stream, NEEDS(a.cuMemcpyDtoHAsync_v2), nullptr,
     nullptr, to_pageable_async<kSmall>, nullptr},
    {"cuMemcpyDtoHAsync, pageable, 64 MiB", true, HeldOn::stream, NEEDS(a.cuMemcpyDtoHAsync_v2), nullptr,
     nullptr, to_pageable_async<kLarge>, nullptr},
    {"cuMemcpyHtoD, pageable, 4 KiB", true, HeldOn::default_stream, NEEDS(a.cuMemcpyHtoD_v2), nullptr,
     nullptr, from_pageable<kSmall>, nullptr},
    {"cuMemcpyHtoD, pageable, 64 MiB", true, HeldOn::default_stream, NEEDS(a.cuMemcpyHtoD_v2), nullptr,
     nullptr, from_pageable<kLarge>, nullptr},
    {"cuMemcpyHtoD, pinned, 4 KiB", true, HeldOn::default_stream, NEEDS(a.cuMemcpyHtoD_v2), nullptr, nullptr,
     [](Material& m) { return api(m).cuMemcpyHtoD_v2(m.device, m.pinned, kSmall); }, nullptr},
    {"cuMemcpyHtoDAsync, pageable, 64 MiB", true, HeldOn::stream, NEEDS(a.cuMemcpyHtoDAsync_v2), nullptr,
     nullptr, [](Material& m) { return api(m).cuMemcpyHtoDAsync_v2(m.device, m.pageable, kLarge, m.stream); },
     nullptr},
    {"cuMemsetD8, managed memory", true, HeldOn::default_stream, NEEDS(a.cuMemsetD8_v2&& a.cuMemAllocManaged),
     nullptr, nullptr, [](Material& m) { return api(m).cuMemsetD8_v2(m.managed, 1, kMiddle); }, nullptr},
    {"cuMemsetD8, pinned host memory", true, HeldOn::default_stream, NEEDS(a.cuMemsetD8_v2), nullptr, nullptr,
     [](Material& m) { return api(m).cuMemsetD8_v2(reinterpret_cast<CUdeviceptr>(m.pinned), 1, kSmall); },
     nullptr},
    {"cuMemFree, 4 KiB", true, HeldOn::stream, NEEDS(a.cuMemFree_v2), allocate_device<kSmall>, nullptr,
     free_device, nullptr},
    {"cuMemFree, 1 MiB", true, HeldOn::stream, NEEDS(a.cuMemFree_v2), allocate_device<kMiddle>, nullptr,
     free_device, nullptr},
    {"cuMemFree, 64 MiB", true, HeldOn::stream, NEEDS(a.cuMemFree_v2), allocate_device<kLarge>, nullptr,
     free_device, nullptr},
    {"cuMemFree, managed", true, HeldOn::stream, NEEDS(a.cuMemFree_v2&& a.cuMemAllocManaged),
     allocate_managed, nullptr, free_device, nullptr},
    {"cuMemFree, kernel on a non-blocking stream", true, HeldOn::non_blocking_stream, NEEDS(a.cuMemFree_v2),
     allocate_device<kMiddle>, nullptr, free_device, nullptr},
    {"cuMemFreeHost", true, HeldOn::stream, NEEDS(a.cuMemFreeHost&& a.cuMemAllocHost_v2), allocate_host,
     nullptr, [](Material& m) { return api(m).cuMemFreeHost(m.host); }, nullptr},
    {"cuMemHostUnregister", true, HeldOn::stream, NEEDS(a.cuMemHostUnregister&& a.cuMemHostRegister_v2),
     register_host, nullptr, [](Material& m) { return api(m).cuMemHostUnregister(m.host); }, free_registered},
    {"cuModuleLoadData", true, HeldOn::stream, NEEDS(a.cuModuleUnload), nullptr, nullptr, load_module,
     unload_module},
    {"cuModuleUnload", true, HeldOn::stream, NEEDS(a.cuModuleUnload), load_module, nullptr,
     [](Material& m) { return api(m).cuModuleUnload(m.module); }, nullptr},
    // Return at once.
    {"cuMemcpyDtoHAsync, pinned", false, HeldOn::stream, NEEDS(a.cuMemcpyDtoHAsync_v2), nullptr, nullptr,
     [](Material& m) { return api(m).cuMemcpyDtoHAsync_v2(m.pinned, m.device, kSmall, m.stream); }, nullptr},
    {"cuMemAlloc", false, HeldOn::stream, NEEDS(true), nullptr, nullptr, allocate_device<kSmall>,
     [](Material& m) { api(m).cuMemFree_v2(m.allocation); }},
    {"cuEventQuery", false, HeldOn::stream, NEEDS(a.cuEventQuery), nullptr, record_spinning,
     [](Material& m) {
       const CUresult result = api(m).cuEventQuery(m.spinning);
       return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
     },
     nullptr},
};

}  // namespace

Result<CallMaterial> CallMaterial::allocate(DriverSession* driver) {
  CallMaterial m;
  m.driver = driver;
  const DriverApi& a = driver->api();
  if (!a.cuStreamCreate || !a.cuEventCreate || !a.cuMemAlloc_v2 || !a.cuMemAllocHost_v2)
    return error("%s lacks functions that every driver has; is it a libcuda?", driver->path().c_str());
  CUresult result;
  void* pinned = nullptr;
  if ((result = a.cuStreamCreate(&m.stream, CU_STREAM_DEFAULT)) != CUDA_SUCCESS ||
      (result = a.cuStreamCreate(&m.non_blocking, CU_STREAM_NON_BLOCKING)) != CUDA_SUCCESS ||
      (result = a.cuEventCreate(&m.spinning, CU_EVENT_DEFAULT)) != CUDA_SUCCESS ||
      (result = a.cuEventCreate(&m.blocking, CU_EVENT_BLOCKING_SYNC)) != CUDA_SUCCESS ||
      (result = a.cuMemAlloc_v2(&m.device, kLarge)) != CUDA_SUCCESS ||
      (result = a.cuMemAllocHost_v2(&pinned, kLarge)) != CUDA_SUCCESS)
    return error(
        "cuStreamCreate, cuEventCreate or cuMemAlloc failed: %s; is the GPU out of memory (64 MiB are "
        "needed)?",
        driver->name_of(result).c_str());
  m.pinned = static_cast<char*>(pinned);
  if (a.cuMemAllocManaged != nullptr &&
      a.cuMemAllocManaged(&m.managed, kMiddle, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS)
    m.managed = 0;  // its rows fail, and say so
  m.pageable = static_cast<char*>(malloc(kLarge));
  if (m.pageable == nullptr) return error("64 MiB of memory are needed; end other programs");
  memset(m.pageable, 1, kLarge);
  return m;
}

std::span<const WaitingCall> waiting_calls_table() { return kTable; }

CUstream stream_of(const CallMaterial& material, HeldOn held_on) {
  switch (held_on) {
    case HeldOn::default_stream:
      return nullptr;
    case HeldOn::stream:
      return material.stream;
    case HeldOn::non_blocking_stream:
      return material.non_blocking;
  }
  return nullptr;
}

}  // namespace diogenes
