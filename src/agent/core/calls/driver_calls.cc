#include "agent/core/calls/driver_calls.h"

namespace diogenes::agent {

DriverCalls driver_calls;

namespace {
LoadedImage driver;

template <typename Function>
void find(const LoadedImage& image, Function& function, const char* name, const char* older = nullptr) {
  uintptr_t address = image.symbol(name);
  if (address == 0 && older) address = image.symbol(older);
  function = reinterpret_cast<Function>(address);
}
}  // namespace

void find_driver_calls(const LoadedImage& image) {
  driver = image;
  DriverCalls& calls = driver_calls;
  find(image, calls.driver_get_version, "cuDriverGetVersion");
  find(image, calls.ctx_get_current, "cuCtxGetCurrent");
  find(image, calls.ctx_get_device, "cuCtxGetDevice");
  find(image, calls.device_get_name, "cuDeviceGetName");
  find(image, calls.device_get_uuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid");
  find(image, calls.device_get_attribute, "cuDeviceGetAttribute");
  find(image, calls.pointer_get_attribute, "cuPointerGetAttribute");
  find(image, calls.mem_get_address_range, "cuMemGetAddressRange_v2");
  find(image, calls.mem_host_alloc, "cuMemHostAlloc");
  find(image, calls.memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2");
  find(image, calls.stream_is_capturing, "cuStreamIsCapturing");
  find(image, calls.stream_is_capturing_ptsz, "cuStreamIsCapturing_ptsz");
  find(image, calls.stream_get_flags, "cuStreamGetFlags");
  find(image, calls.func_get_param_info, "cuFuncGetParamInfo");
  find(image, calls.get_export_table, "cuGetExportTable");
  find(image, calls.kernel_get_param_info, "cuKernelGetParamInfo");
  find(image, calls.graph_get_nodes, "cuGraphGetNodes");
  find(image, calls.graph_node_get_type, "cuGraphNodeGetType");
  find(image, calls.graph_kernel_node_get_params, "cuGraphKernelNodeGetParams_v2",
       "cuGraphKernelNodeGetParams");
  find(image, calls.graph_kernel_node_get_attribute, "cuGraphKernelNodeGetAttribute");
  find(image, calls.graph_memcpy_node_get_params, "cuGraphMemcpyNodeGetParams");
  find(image, calls.graph_memset_node_get_params, "cuGraphMemsetNodeGetParams");
  find(image, calls.graph_child_node_get_graph, "cuGraphChildGraphNodeGetGraph");
}

uintptr_t driver_symbol(const char* name) { return driver.headers ? driver.symbol(name) : 0; }

}  // namespace diogenes::agent
