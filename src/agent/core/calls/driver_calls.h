// The few driver functions that the agent calls itself, found in the mapped libcuda by its dynamic symbols.
// Calls made through here pass the hooks untouched (the thread is marked as inside the agent). A null
// pointer: this driver does not have it. Filled before the first hook can run.
#pragma once
#include "agent/core/recording/elf_image.h"
#include "driver/cuda_types.h"

namespace diogenes::agent {

struct DriverCalls {
  CUresult (*driver_get_version)(int*) = nullptr;
  CUresult (*ctx_get_current)(CUcontext*) = nullptr;
  CUresult (*ctx_get_device)(CUdevice*) = nullptr;
  CUresult (*device_get_name)(char*, int, CUdevice) = nullptr;
  CUresult (*device_get_uuid)(CUuuid*, CUdevice) = nullptr;
  CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  CUresult (*pointer_get_attribute)(void*, CUpointer_attribute, CUdeviceptr) = nullptr;
  CUresult (*mem_get_address_range)(CUdeviceptr*, size_t*, CUdeviceptr) = nullptr;
  CUresult (*mem_host_alloc)(void**, size_t, unsigned) = nullptr;
  CUresult (*memcpy_dtoh_async)(void*, CUdeviceptr, size_t, CUstream) = nullptr;  // null stream: legacy
  CUresult (*stream_is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
  CUresult (*stream_is_capturing_ptsz)(CUstream, CUstreamCaptureStatus*) = nullptr;
  CUresult (*stream_get_flags)(CUstream, unsigned*) = nullptr;
  CUresult (*func_get_param_info)(CUfunction, size_t, size_t*, size_t*) = nullptr;
  CUresult (*get_export_table)(const void**, const CUuuid*) = nullptr;
  CUresult (*kernel_get_param_info)(CUkernel, size_t, size_t*, size_t*) = nullptr;
  CUresult (*graph_get_nodes)(CUgraph, CUgraphNode*, size_t*) = nullptr;
  CUresult (*graph_node_get_type)(CUgraphNode, CUgraphNodeType*) = nullptr;
  CUresult (*graph_kernel_node_get_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*) = nullptr;
  CUresult (*graph_kernel_node_get_attribute)(CUgraphNode, CUlaunchAttributeID,
                                              CUlaunchAttributeValue*) = nullptr;
  CUresult (*graph_memcpy_node_get_params)(CUgraphNode, CUDA_MEMCPY3D*) = nullptr;
  CUresult (*graph_memset_node_get_params)(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*) = nullptr;
  CUresult (*graph_child_node_get_graph)(CUgraphNode, CUgraph*) = nullptr;
};

extern DriverCalls driver_calls;

// Fills it.
void find_driver_calls(const LoadedImage& image);

// Of the driver that it was filled from; 0: it does not have it.
uintptr_t driver_symbol(const char* name);

}  // namespace diogenes::agent
