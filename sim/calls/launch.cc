// Kernel launches: arguments checked, parameters gathered, submitted to the stream; a full queue is waited
// for first.
#include <cstring>

#include "graphs/graphs.h"
#include "memory/modules.h"
#include "wait.h"

namespace diogenes::sim {
namespace {

struct Shape {
  unsigned grid[3], block[3];
  bool possible() const {
    for (const unsigned size : grid)
      if (size == 0) return false;
    for (const unsigned size : block)
      if (size == 0) return false;
    return uint64_t{block[0]} * block[1] * block[2] <= 1024 && block[2] <= 64 && grid[1] <= 65535 &&
           grid[2] <= 65535;
  }
};

// The launch's parameters as one block of bytes, from either way of passing them. False: not enough of them.
bool gather(const std::vector<PtxParameter>& wanted, void** parameters, void** extra,
            std::vector<char>* bytes) {
  bytes->assign(wanted.empty() ? 0 : wanted.back().offset + wanted.back().bytes, 0);
  if (bytes->empty()) return true;
  if (parameters) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!parameters[i]) return false;
      memcpy(bytes->data() + wanted[i].offset, parameters[i], wanted[i].bytes);
    }
    return true;
  }
  const void* buffer = nullptr;
  size_t size = 0;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<const size_t*>(extra[1]);
    else
      return false;
  }
  if (!buffer || size < bytes->size()) return false;
  memcpy(bytes->data(), buffer, bytes->size());
  return true;
}

// Looks the function up and gathers its parameters. Takes the device lock.
CUresult prepare(const Context& context, const CUDA_KERNEL_NODE_PARAMS_v2& kernel, const Kernel** found,
                 std::vector<char>* bytes) {
  const Shape shape{{kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
                    {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ}};
  if (!shape.possible()) return CUDA_ERROR_INVALID_VALUE;
  {
    const Held held = hold_device();
    const Function* function =
        find_function(kernel.func ? static_cast<const void*>(kernel.func) : kernel.kern);
    if (!function || !function->kernel) return CUDA_ERROR_INVALID_HANDLE;
    if (function->module->context && function->module->context != &context) return CUDA_ERROR_INVALID_CONTEXT;
    *found = function->kernel;
  }
  // The program's memory is read with no lock held: a guard of its own may be on it.
  if (kernel.kernelParams && kernel.extra) return CUDA_ERROR_INVALID_VALUE;
  return gather((*found)->parameters, kernel.kernelParams, kernel.extra, bytes) ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_INVALID_VALUE;
}

Work work_of(const Kernel& kernel, const CUDA_KERNEL_NODE_PARAMS_v2& as, const char* parameters) {
  Work work = kernel.work(parameters);
  work.kernel = kernel.name.data();
  const uint32_t grid[3] = {as.gridDimX, as.gridDimY, as.gridDimZ};
  const uint32_t block[3] = {as.blockDimX, as.blockDimY, as.blockDimZ};
  std::copy_n(grid, 3, work.grid);
  std::copy_n(block, 3, work.block);
  return work;
}

CUresult launch(Null null, CUfunction handle, const Shape& shape, CUstream stream_handle, void** parameters,
                void** extra) {
  DRIVER_CALL(a_context);
  call.costs(kLaunchCost);
  const CUDA_KERNEL_NODE_PARAMS_v2 described{handle,         shape.grid[0],  shape.grid[1],  shape.grid[2],
                                             shape.block[0], shape.block[1], shape.block[2], 0,
                                             parameters,     extra,          nullptr,        nullptr};
  std::vector<char> bytes;
  const Kernel* kernel;
  if (const CUresult error = prepare(*call.context, described, &kernel, &bytes)) return error;
  StreamPtr stream;
  {
    const Held held = hold_device();
    stream = find_stream(*call.context, stream_handle, null);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  }
  Work work = work_of(*kernel, described, bytes.data());
  work.latency_ns = kLaunchCost + kLaunchLatency;
  wait_for_room(call, *stream);
  const Held held = hold_device();
  if (stream->capture) work.node = description_of(described, kernel->parameters, std::move(bytes));
  return enqueue(stream, std::move(work));
}

CUresult launch_ex(Null null, const CUlaunchConfig* c, CUfunction function, void** parameters, void** extra) {
  if (!c || (c->numAttrs > 0 && !c->attrs)) return CUDA_ERROR_INVALID_VALUE;
  const Shape shape{{c->gridDimX, c->gridDimY, c->gridDimZ}, {c->blockDimX, c->blockDimY, c->blockDimZ}};
  return launch(null, function, shape, c->hStream, parameters, extra);
}

}  // namespace

std::shared_ptr<const NodeDescription> description_of(const CUDA_KERNEL_NODE_PARAMS_v2& kernel,
                                                      const std::vector<PtxParameter>& wanted,
                                                      std::vector<char> parameters) {
  auto node = std::make_shared<NodeDescription>();
  node->type = CU_GRAPH_NODE_TYPE_KERNEL;
  node->kernel = kernel;
  node->parameters = std::move(parameters);
  for (const PtxParameter& parameter : wanted)
    node->pointers.push_back(node->parameters.data() + parameter.offset);
  node->kernel.kernelParams = node->pointers.data();
  node->kernel.extra = nullptr;
  return node;
}

CUresult kernel_work(const Context& context, const CUDA_KERNEL_NODE_PARAMS_v2& described, Work* work) {
  std::vector<char> bytes;
  const Kernel* kernel;
  if (const CUresult error = prepare(context, described, &kernel, &bytes)) return error;
  *work = work_of(*kernel, described, bytes.data());
  work->node = description_of(described, kernel->parameters, std::move(bytes));
  return CUDA_SUCCESS;
}

}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned, CUstream stream, void** parameters, void** extra) {
  return launch(kLegacy, function, {{gx, gy, gz}, {bx, by, bz}}, stream, parameters, extra);
}
CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned, CUstream stream, void** parameters,
                             void** extra) {
  return launch(kPerThread, function, {{gx, gy, gz}, {bx, by, bz}}, stream, parameters, extra);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* configuration, CUfunction function, void** parameters,
                          void** extra) {
  return launch_ex(kLegacy, configuration, function, parameters, extra);
}
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* configuration, CUfunction function, void** parameters,
                               void** extra) {
  return launch_ex(kPerThread, configuration, function, parameters, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned, CUstream stream, void** parameters) {
  return launch(kLegacy, function, {{gx, gy, gz}, {bx, by, bz}}, stream, parameters, nullptr);
}
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                        unsigned bx, unsigned by, unsigned bz, unsigned, CUstream stream,
                                        void** parameters) {
  return launch(kPerThread, function, {{gx, gy, gz}, {bx, by, bz}}, stream, parameters, nullptr);
}
