#include "nodes.h"

#include "gpu.h"
#include "kernels_ptx.h"

namespace litmus {

CUgraph graph_of_nodes(const GraphWork& work) {
  static CUfunction fill = [] {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
    CHECK(cuModuleGetFunction(&function, module, "fill"));
    return function;
  }();
  CUgraph inner = nullptr, graph = nullptr;
  CUgraphNode node = nullptr, kernel_node = nullptr;
  CHECK(cuGraphCreate(&inner, 0));
  CHECK(cuGraphCreate(&graph, 0));
  CUdeviceptr written = work.written;
  uint32_t value = work.value;
  uint64_t words = work.words, ns = work.busy_us * 1000;
  void* parameters[] = {&written, &value, &words, &ns};
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  kernel.func = fill;
  kernel.gridDimX = 32, kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = 256, kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  CHECK(cuGraphAddKernelNode(&kernel_node, inner, nullptr, 0, &kernel));
  CHECK(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, inner));
  CHECK(cuGraphDestroy(inner));
  if (!work.to && !work.to_host) return graph;
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = work.from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = work.from_host, copy.srcDevice = work.from;
  copy.dstMemoryType = work.to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = work.to_host, copy.dstDevice = work.to;
  copy.WidthInBytes = work.words * 4, copy.Height = copy.Depth = 1;
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CUgraphNode copy_node = nullptr;
  CHECK(cuGraphAddMemcpyNode(&copy_node, graph, &node, 1, &copy, context));
  return graph;
}

}  // namespace litmus
