// Prototypes of the driver functions that the simulated driver exports and that the examples call; part of
// cuda_abi.h, which is what to include. PTDS and PTSZ: the variant whose null stream is the calling thread's
// default stream is exported too.
#pragma once

#ifdef __cplusplus
#define DIOGENES_CUDA_FUNCTION(name, ...) extern "C" CUresult name(__VA_ARGS__);
#else
#define DIOGENES_CUDA_FUNCTION(name, ...) CUresult name(__VA_ARGS__);
#endif
#define DIOGENES_CUDA_PTDS(name, ...)       \
  DIOGENES_CUDA_FUNCTION(name, __VA_ARGS__) \
  DIOGENES_CUDA_FUNCTION(name##_ptds, __VA_ARGS__)
#define DIOGENES_CUDA_PTSZ(name, ...)       \
  DIOGENES_CUDA_FUNCTION(name, __VA_ARGS__) \
  DIOGENES_CUDA_FUNCTION(name##_ptsz, __VA_ARGS__)

// ---- start, errors, finding functions ----
DIOGENES_CUDA_FUNCTION(cuInit, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuDriverGetVersion, int* version)
DIOGENES_CUDA_FUNCTION(cuGetErrorName, CUresult error, const char** text)
DIOGENES_CUDA_FUNCTION(cuGetErrorString, CUresult error, const char** text)
DIOGENES_CUDA_FUNCTION(cuGetProcAddress, const char* symbol, void** function, int version, cuuint64_t flags)
DIOGENES_CUDA_FUNCTION(cuGetProcAddress_v2, const char* symbol, void** function, int version,
                       cuuint64_t flags, CUdriverProcAddressQueryResult* status)
DIOGENES_CUDA_FUNCTION(cuGetExportTable, const void** table, const CUuuid* id)
DIOGENES_CUDA_FUNCTION(cuProfilerStart, void)
DIOGENES_CUDA_FUNCTION(cuProfilerStop, void)

// ---- devices ----
DIOGENES_CUDA_FUNCTION(cuDeviceGet, CUdevice* device, int ordinal)
DIOGENES_CUDA_FUNCTION(cuDeviceGetCount, int* count)
DIOGENES_CUDA_FUNCTION(cuDeviceGetName, char* name, int length, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceGetUuid, CUuuid* uuid, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceGetUuid_v2, CUuuid* uuid, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceTotalMem_v2, size_t* bytes, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceGetAttribute, int* value, CUdevice_attribute attribute, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceGetProperties, CUdevprop* properties, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceComputeCapability, int* major, int* minor, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceGetPCIBusId, char* id, int length, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceGetByPCIBusId, CUdevice* device, const char* id)
DIOGENES_CUDA_FUNCTION(cuDeviceCanAccessPeer, int* can, CUdevice device, CUdevice peer)
DIOGENES_CUDA_FUNCTION(cuDeviceGetDefaultMemPool, CUmemoryPool* pool, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceGetMemPool, CUmemoryPool* pool, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDeviceSetMemPool, CUdevice device, CUmemoryPool pool)

// ---- contexts ----
DIOGENES_CUDA_FUNCTION(cuDevicePrimaryCtxRetain, CUcontext* context, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDevicePrimaryCtxRelease, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDevicePrimaryCtxRelease_v2, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDevicePrimaryCtxReset, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDevicePrimaryCtxReset_v2, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuDevicePrimaryCtxSetFlags, CUdevice device, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuDevicePrimaryCtxSetFlags_v2, CUdevice device, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuDevicePrimaryCtxGetState, CUdevice device, unsigned int* flags, int* active)
DIOGENES_CUDA_FUNCTION(cuCtxCreate_v2, CUcontext* context, unsigned int flags, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuCtxCreate_v4, CUcontext* context, CUctxCreateParams* parameters, unsigned int flags,
                       CUdevice device)
DIOGENES_CUDA_FUNCTION(cuCtxDestroy, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuCtxDestroy_v2, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuCtxPushCurrent, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuCtxPushCurrent_v2, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuCtxPopCurrent, CUcontext* context)
DIOGENES_CUDA_FUNCTION(cuCtxPopCurrent_v2, CUcontext* context)
DIOGENES_CUDA_FUNCTION(cuCtxSetCurrent, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuCtxGetCurrent, CUcontext* context)
DIOGENES_CUDA_FUNCTION(cuCtxGetDevice, CUdevice* device)
DIOGENES_CUDA_FUNCTION(cuCtxGetFlags, unsigned int* flags)
DIOGENES_CUDA_FUNCTION(cuCtxSetFlags, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuCtxGetId, CUcontext context, unsigned long long* id)
DIOGENES_CUDA_FUNCTION(cuCtxGetApiVersion, CUcontext context, unsigned int* version)
DIOGENES_CUDA_FUNCTION(cuCtxSynchronize, void)
DIOGENES_CUDA_FUNCTION(cuCtxSynchronize_v2, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuCtxGetLimit, size_t* value, CUlimit limit)
DIOGENES_CUDA_FUNCTION(cuCtxSetLimit, CUlimit limit, size_t value)
DIOGENES_CUDA_FUNCTION(cuCtxGetCacheConfig, CUfunc_cache* configuration)
DIOGENES_CUDA_FUNCTION(cuCtxSetCacheConfig, CUfunc_cache configuration)
DIOGENES_CUDA_FUNCTION(cuCtxGetStreamPriorityRange, int* least, int* greatest)
DIOGENES_CUDA_FUNCTION(cuCtxEnablePeerAccess, CUcontext peer, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuCtxDisablePeerAccess, CUcontext peer)

// ---- modules, libraries, functions ----
DIOGENES_CUDA_FUNCTION(cuModuleLoad, CUmodule* module, const char* path)
DIOGENES_CUDA_FUNCTION(cuModuleLoadData, CUmodule* module, const void* image)
DIOGENES_CUDA_FUNCTION(cuModuleLoadDataEx, CUmodule* module, const void* image, unsigned int count,
                       CUjit_option* options, void** values)
DIOGENES_CUDA_FUNCTION(cuModuleLoadFatBinary, CUmodule* module, const void* image)
DIOGENES_CUDA_FUNCTION(cuModuleUnload, CUmodule module)
DIOGENES_CUDA_FUNCTION(cuModuleGetLoadingMode, CUmoduleLoadingMode* mode)
DIOGENES_CUDA_FUNCTION(cuModuleGetFunction, CUfunction* function, CUmodule module, const char* name)
DIOGENES_CUDA_FUNCTION(cuModuleGetFunctionCount, unsigned int* count, CUmodule module)
DIOGENES_CUDA_FUNCTION(cuModuleEnumerateFunctions, CUfunction* functions, unsigned int count, CUmodule module)
DIOGENES_CUDA_FUNCTION(cuModuleGetGlobal_v2, CUdeviceptr* address, size_t* bytes, CUmodule module,
                       const char* name)
DIOGENES_CUDA_FUNCTION(cuLibraryLoadData, CUlibrary* library, const void* code, CUjit_option* jit_options,
                       void** jit_values, unsigned int jit_count, CUlibraryOption* options, void** values,
                       unsigned int count)
DIOGENES_CUDA_FUNCTION(cuLibraryLoadFromFile, CUlibrary* library, const char* path, CUjit_option* jit_options,
                       void** jit_values, unsigned int jit_count, CUlibraryOption* options, void** values,
                       unsigned int count)
DIOGENES_CUDA_FUNCTION(cuLibraryUnload, CUlibrary library)
DIOGENES_CUDA_FUNCTION(cuLibraryGetKernel, CUkernel* kernel, CUlibrary library, const char* name)
DIOGENES_CUDA_FUNCTION(cuLibraryGetKernelCount, unsigned int* count, CUlibrary library)
DIOGENES_CUDA_FUNCTION(cuLibraryEnumerateKernels, CUkernel* kernels, unsigned int count, CUlibrary library)
DIOGENES_CUDA_FUNCTION(cuLibraryGetModule, CUmodule* module, CUlibrary library)
DIOGENES_CUDA_FUNCTION(cuLibraryGetGlobal, CUdeviceptr* address, size_t* bytes, CUlibrary library,
                       const char* name)
DIOGENES_CUDA_FUNCTION(cuKernelGetFunction, CUfunction* function, CUkernel kernel)
DIOGENES_CUDA_FUNCTION(cuKernelGetLibrary, CUlibrary* library, CUkernel kernel)
DIOGENES_CUDA_FUNCTION(cuKernelGetName, const char** name, CUkernel kernel)
DIOGENES_CUDA_FUNCTION(cuKernelGetParamInfo, CUkernel kernel, size_t index, size_t* offset, size_t* bytes)
DIOGENES_CUDA_FUNCTION(cuKernelGetAttribute, int* value, CUfunction_attribute attribute, CUkernel kernel,
                       CUdevice device)
DIOGENES_CUDA_FUNCTION(cuFuncGetParamInfo, CUfunction function, size_t index, size_t* offset, size_t* bytes)
DIOGENES_CUDA_FUNCTION(cuFuncGetAttribute, int* value, CUfunction_attribute attribute, CUfunction function)
DIOGENES_CUDA_FUNCTION(cuFuncSetAttribute, CUfunction function, CUfunction_attribute attribute, int value)
DIOGENES_CUDA_FUNCTION(cuFuncSetCacheConfig, CUfunction function, CUfunc_cache configuration)
DIOGENES_CUDA_FUNCTION(cuFuncSetSharedMemConfig, CUfunction function, CUsharedconfig configuration)
DIOGENES_CUDA_FUNCTION(cuFuncGetModule, CUmodule* module, CUfunction function)
DIOGENES_CUDA_FUNCTION(cuFuncGetName, const char** name, CUfunction function)
DIOGENES_CUDA_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks, CUfunction function,
                       int block_size, size_t shared)
DIOGENES_CUDA_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int* blocks, CUfunction function,
                       int block_size, size_t shared, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuOccupancyMaxPotentialBlockSize, int* min_grid, int* block_size, CUfunction function,
                       size_t (*shared_of)(int), size_t shared, int limit)
DIOGENES_CUDA_PTSZ(cuLaunchKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y,
                   unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
                   unsigned int shared, CUstream stream, void** parameters, void** extra)
DIOGENES_CUDA_PTSZ(cuLaunchKernelEx, const CUlaunchConfig* configuration, CUfunction function,
                   void** parameters, void** extra)
DIOGENES_CUDA_PTSZ(cuLaunchCooperativeKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y,
                   unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
                   unsigned int shared, CUstream stream, void** parameters)
DIOGENES_CUDA_PTSZ(cuLaunchHostFunc, CUstream stream, CUhostFn function, void* data)

// ---- streams and events ----
DIOGENES_CUDA_FUNCTION(cuStreamCreate, CUstream* stream, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuStreamCreateWithPriority, CUstream* stream, unsigned int flags, int priority)
DIOGENES_CUDA_FUNCTION(cuStreamDestroy, CUstream stream)
DIOGENES_CUDA_FUNCTION(cuStreamDestroy_v2, CUstream stream)
DIOGENES_CUDA_PTSZ(cuStreamSynchronize, CUstream stream)
DIOGENES_CUDA_PTSZ(cuStreamQuery, CUstream stream)
DIOGENES_CUDA_PTSZ(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned int flags)
DIOGENES_CUDA_PTSZ(cuStreamAddCallback, CUstream stream, CUstreamCallback callback, void* data,
                   unsigned int flags)
DIOGENES_CUDA_PTSZ(cuStreamGetFlags, CUstream stream, unsigned int* flags)
DIOGENES_CUDA_PTSZ(cuStreamGetPriority, CUstream stream, int* priority)
DIOGENES_CUDA_PTSZ(cuStreamGetId, CUstream stream, unsigned long long* id)
DIOGENES_CUDA_PTSZ(cuStreamGetCtx, CUstream stream, CUcontext* context)
DIOGENES_CUDA_PTSZ(cuStreamGetDevice, CUstream stream, CUdevice* device)
DIOGENES_CUDA_PTSZ(cuStreamWaitValue32_v2, CUstream stream, CUdeviceptr address, cuuint32_t value,
                   unsigned int flags)
DIOGENES_CUDA_PTSZ(cuStreamWaitValue64_v2, CUstream stream, CUdeviceptr address, cuuint64_t value,
                   unsigned int flags)
DIOGENES_CUDA_PTSZ(cuStreamWriteValue32_v2, CUstream stream, CUdeviceptr address, cuuint32_t value,
                   unsigned int flags)
DIOGENES_CUDA_PTSZ(cuStreamWriteValue64_v2, CUstream stream, CUdeviceptr address, cuuint64_t value,
                   unsigned int flags)
DIOGENES_CUDA_PTSZ(cuStreamAttachMemAsync, CUstream stream, CUdeviceptr address, size_t bytes,
                   unsigned int flags)
DIOGENES_CUDA_PTSZ(cuStreamIsCapturing, CUstream stream, CUstreamCaptureStatus* status)
DIOGENES_CUDA_PTSZ(cuStreamBeginCapture_v2, CUstream stream, CUstreamCaptureMode mode)
DIOGENES_CUDA_PTSZ(cuStreamEndCapture, CUstream stream, CUgraph* graph)
DIOGENES_CUDA_PTSZ(cuStreamGetCaptureInfo_v2, CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                   CUgraph* graph, const CUgraphNode** dependencies, size_t* count)
DIOGENES_CUDA_PTSZ(cuStreamGetCaptureInfo_v3, CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                   CUgraph* graph, const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                   size_t* count)
DIOGENES_CUDA_FUNCTION(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode* mode)
DIOGENES_CUDA_FUNCTION(cuEventCreate, CUevent* event, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuEventDestroy, CUevent event)
DIOGENES_CUDA_FUNCTION(cuEventDestroy_v2, CUevent event)
DIOGENES_CUDA_PTSZ(cuEventRecord, CUevent event, CUstream stream)
DIOGENES_CUDA_PTSZ(cuEventRecordWithFlags, CUevent event, CUstream stream, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuEventQuery, CUevent event)
DIOGENES_CUDA_FUNCTION(cuEventSynchronize, CUevent event)
DIOGENES_CUDA_FUNCTION(cuEventElapsedTime, float* milliseconds, CUevent start, CUevent end)
DIOGENES_CUDA_FUNCTION(cuEventElapsedTime_v2, float* milliseconds, CUevent start, CUevent end)

// ---- graphs ----
DIOGENES_CUDA_FUNCTION(cuGraphInstantiateWithFlags, CUgraphExec* exec, CUgraph graph,
                       unsigned long long flags)
DIOGENES_CUDA_FUNCTION(cuGraphInstantiate_v2, CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                       char* log, size_t bytes)
DIOGENES_CUDA_PTSZ(cuGraphInstantiateWithParams, CUgraphExec* exec, CUgraph graph,
                   CUDA_GRAPH_INSTANTIATE_PARAMS* how)
DIOGENES_CUDA_FUNCTION(cuGraphExecUpdate_v2, CUgraphExec exec, CUgraph graph,
                       CUgraphExecUpdateResultInfo* info)
DIOGENES_CUDA_FUNCTION(cuGraphCreate, CUgraph* graph, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuGraphAddKernelNode_v2, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                       size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* kernel)
DIOGENES_CUDA_FUNCTION(cuGraphAddMemcpyNode, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                       size_t count, const CUDA_MEMCPY3D* copy, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuGraphAddMemsetNode, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                       size_t count, const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuGraphAddHostNode, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                       size_t count, const CUDA_HOST_NODE_PARAMS* host)
DIOGENES_CUDA_FUNCTION(cuGraphAddEmptyNode, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                       size_t count)
DIOGENES_CUDA_FUNCTION(cuGraphAddChildGraphNode, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                       size_t count, CUgraph child)
DIOGENES_CUDA_FUNCTION(cuGraphAddDependencies, CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                       size_t count)
DIOGENES_CUDA_FUNCTION(cuGraphAddDependencies_v2, CUgraph graph, const CUgraphNode* from,
                       const CUgraphNode* to, const CUgraphEdgeData* edges, size_t count)
DIOGENES_CUDA_FUNCTION(cuGraphNodeGetType, CUgraphNode node, CUgraphNodeType* type)
DIOGENES_CUDA_FUNCTION(cuGraphKernelNodeGetParams_v2, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* kernel)
DIOGENES_CUDA_FUNCTION(cuGraphKernelNodeGetAttribute, CUgraphNode node, CUlaunchAttributeID attribute,
                       CUlaunchAttributeValue* value)
DIOGENES_CUDA_FUNCTION(cuGraphMemcpyNodeGetParams, CUgraphNode node, CUDA_MEMCPY3D* copy)
DIOGENES_CUDA_FUNCTION(cuGraphMemsetNodeGetParams, CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* fill)
DIOGENES_CUDA_FUNCTION(cuGraphHostNodeGetParams, CUgraphNode node, CUDA_HOST_NODE_PARAMS* host)
DIOGENES_CUDA_FUNCTION(cuGraphChildGraphNodeGetGraph, CUgraphNode node, CUgraph* graph)
DIOGENES_CUDA_FUNCTION(cuGraphKernelNodeSetParams_v2, CUgraphNode node,
                       const CUDA_KERNEL_NODE_PARAMS_v2* kernel)
DIOGENES_CUDA_FUNCTION(cuGraphHostNodeSetParams, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host)
DIOGENES_CUDA_FUNCTION(cuGraphExecKernelNodeSetParams_v2, CUgraphExec exec, CUgraphNode node,
                       const CUDA_KERNEL_NODE_PARAMS_v2* kernel)
DIOGENES_CUDA_FUNCTION(cuGraphExecMemcpyNodeSetParams, CUgraphExec exec, CUgraphNode node,
                       const CUDA_MEMCPY3D* copy, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuGraphExecMemsetNodeSetParams, CUgraphExec exec, CUgraphNode node,
                       const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context)
DIOGENES_CUDA_FUNCTION(cuGraphExecHostNodeSetParams, CUgraphExec exec, CUgraphNode node,
                       const CUDA_HOST_NODE_PARAMS* host)
DIOGENES_CUDA_FUNCTION(cuGraphGetNodes, CUgraph graph, CUgraphNode* nodes, size_t* count)
DIOGENES_CUDA_FUNCTION(cuGraphDestroy, CUgraph graph)
DIOGENES_CUDA_FUNCTION(cuGraphExecDestroy, CUgraphExec exec)
DIOGENES_CUDA_PTSZ(cuGraphLaunch, CUgraphExec exec, CUstream stream)
DIOGENES_CUDA_PTSZ(cuGraphUpload, CUgraphExec exec, CUstream stream)

// ---- memory ----
DIOGENES_CUDA_FUNCTION(cuMemGetInfo_v2, size_t* free_bytes, size_t* total_bytes)
DIOGENES_CUDA_FUNCTION(cuMemAlloc_v2, CUdeviceptr* address, size_t bytes)
DIOGENES_CUDA_FUNCTION(cuMemAllocPitch_v2, CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                       unsigned int element)
DIOGENES_CUDA_FUNCTION(cuMemFree_v2, CUdeviceptr address)
DIOGENES_CUDA_FUNCTION(cuMemGetAddressRange_v2, CUdeviceptr* base, size_t* bytes, CUdeviceptr address)
DIOGENES_CUDA_FUNCTION(cuMemAllocHost_v2, void** pointer, size_t bytes)
DIOGENES_CUDA_FUNCTION(cuMemHostAlloc, void** pointer, size_t bytes, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuMemFreeHost, void* pointer)
DIOGENES_CUDA_FUNCTION(cuMemHostGetDevicePointer_v2, CUdeviceptr* address, void* pointer, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuMemHostGetFlags, unsigned int* flags, void* pointer)
DIOGENES_CUDA_FUNCTION(cuMemHostRegister, void* pointer, size_t bytes, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuMemHostRegister_v2, void* pointer, size_t bytes, unsigned int flags)
DIOGENES_CUDA_FUNCTION(cuMemHostUnregister, void* pointer)
DIOGENES_CUDA_FUNCTION(cuMemAllocManaged, CUdeviceptr* address, size_t bytes, unsigned int flags)
DIOGENES_CUDA_PTSZ(cuMemAllocAsync, CUdeviceptr* address, size_t bytes, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemFreeAsync, CUdeviceptr address, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemAllocFromPoolAsync, CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                   CUstream stream)
DIOGENES_CUDA_FUNCTION(cuMemPoolCreate, CUmemoryPool* pool, const CUmemPoolProps* properties)
DIOGENES_CUDA_FUNCTION(cuMemPoolDestroy, CUmemoryPool pool)
DIOGENES_CUDA_FUNCTION(cuMemPoolTrimTo, CUmemoryPool pool, size_t keep)
DIOGENES_CUDA_FUNCTION(cuMemPoolGetAttribute, CUmemoryPool pool, CUmemPool_attribute attribute, void* value)
DIOGENES_CUDA_FUNCTION(cuMemPoolSetAttribute, CUmemoryPool pool, CUmemPool_attribute attribute, void* value)
DIOGENES_CUDA_PTSZ(cuMemPrefetchAsync, CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemPrefetchAsync_v2, CUdeviceptr address, size_t bytes, CUmemLocation location,
                   unsigned int flags, CUstream stream)
DIOGENES_CUDA_FUNCTION(cuMemAdvise, CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
DIOGENES_CUDA_FUNCTION(cuMemAdvise_v2, CUdeviceptr address, size_t bytes, CUmem_advise advice,
                       CUmemLocation location)
DIOGENES_CUDA_FUNCTION(cuPointerGetAttribute, void* value, CUpointer_attribute attribute, CUdeviceptr address)
DIOGENES_CUDA_FUNCTION(cuPointerGetAttributes, unsigned int count, CUpointer_attribute* attributes,
                       void** values, CUdeviceptr address)
DIOGENES_CUDA_FUNCTION(cuPointerSetAttribute, const void* value, CUpointer_attribute attribute,
                       CUdeviceptr address)

// ---- copies ----
DIOGENES_CUDA_PTDS(cuMemcpy, CUdeviceptr destination, CUdeviceptr source, size_t bytes)
DIOGENES_CUDA_PTDS(cuMemcpyPeer, CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                   CUcontext source_context, size_t bytes)
DIOGENES_CUDA_PTDS(cuMemcpyHtoD_v2, CUdeviceptr destination, const void* source, size_t bytes)
DIOGENES_CUDA_PTDS(cuMemcpyDtoH_v2, void* destination, CUdeviceptr source, size_t bytes)
DIOGENES_CUDA_PTDS(cuMemcpyDtoD_v2, CUdeviceptr destination, CUdeviceptr source, size_t bytes)
DIOGENES_CUDA_PTDS(cuMemcpy2D_v2, const CUDA_MEMCPY2D* copy)
DIOGENES_CUDA_PTDS(cuMemcpy2DUnaligned_v2, const CUDA_MEMCPY2D* copy)
DIOGENES_CUDA_PTDS(cuMemcpy3D_v2, const CUDA_MEMCPY3D* copy)
DIOGENES_CUDA_PTDS(cuMemcpy3DPeer, const CUDA_MEMCPY3D_PEER* copy)
DIOGENES_CUDA_PTSZ(cuMemcpyAsync, CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemcpyPeerAsync, CUdeviceptr destination, CUcontext destination_context,
                   CUdeviceptr source, CUcontext source_context, size_t bytes, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemcpyHtoDAsync_v2, CUdeviceptr destination, const void* source, size_t bytes,
                   CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemcpyDtoHAsync_v2, void* destination, CUdeviceptr source, size_t bytes, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemcpyDtoDAsync_v2, CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                   CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D* copy, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D* copy, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemcpy3DPeerAsync, const CUDA_MEMCPY3D_PEER* copy, CUstream stream)

// ---- fills ----
DIOGENES_CUDA_PTDS(cuMemsetD8_v2, CUdeviceptr destination, unsigned char value, size_t count)
DIOGENES_CUDA_PTDS(cuMemsetD16_v2, CUdeviceptr destination, unsigned short value, size_t count)
DIOGENES_CUDA_PTDS(cuMemsetD32_v2, CUdeviceptr destination, unsigned int value, size_t count)
DIOGENES_CUDA_PTDS(cuMemsetD2D8_v2, CUdeviceptr destination, size_t pitch, unsigned char value, size_t width,
                   size_t height)
DIOGENES_CUDA_PTDS(cuMemsetD2D16_v2, CUdeviceptr destination, size_t pitch, unsigned short value,
                   size_t width, size_t height)
DIOGENES_CUDA_PTDS(cuMemsetD2D32_v2, CUdeviceptr destination, size_t pitch, unsigned int value, size_t width,
                   size_t height)
DIOGENES_CUDA_PTSZ(cuMemsetD8Async, CUdeviceptr destination, unsigned char value, size_t count,
                   CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemsetD16Async, CUdeviceptr destination, unsigned short value, size_t count,
                   CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemsetD32Async, CUdeviceptr destination, unsigned int value, size_t count,
                   CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemsetD2D8Async, CUdeviceptr destination, size_t pitch, unsigned char value,
                   size_t width, size_t height, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemsetD2D16Async, CUdeviceptr destination, size_t pitch, unsigned short value,
                   size_t width, size_t height, CUstream stream)
DIOGENES_CUDA_PTSZ(cuMemsetD2D32Async, CUdeviceptr destination, size_t pitch, unsigned int value,
                   size_t width, size_t height, CUstream stream)

#undef DIOGENES_CUDA_FUNCTION
#undef DIOGENES_CUDA_PTDS
#undef DIOGENES_CUDA_PTSZ

#ifndef DIOGENES_CUDA_NO_NAME_MAPPING
#include "cuda_names.h"
#endif
