// Kernel launches: arguments checked, parameters gathered, submitted to the stream; a full queue is waited
// for first.
#include <cstring>

#include "modules.h"
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

CUresult launch(Null null, CUfunction handle, const Shape& shape, CUstream stream_handle, void** parameters,
                void** extra) {
  DRIVER_CALL(a_context);
  call.costs(kLaunchCost);
  if (!shape.possible()) return CUDA_ERROR_INVALID_VALUE;
  std::vector<char> bytes;
  StreamPtr stream;
  const Kernel* kernel;
  {
    const Held held = hold_device();
    const Function* function = find_function(handle);
    if (!function || !function->kernel) return CUDA_ERROR_INVALID_HANDLE;
    if (function->module->context && function->module->context != call.context)
      return CUDA_ERROR_INVALID_CONTEXT;
    stream = find_stream(*call.context, stream_handle, null);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    kernel = function->kernel;
  }
  // The program's memory is read with no lock held: a guard of its own may be on it.
  if (parameters && extra) return CUDA_ERROR_INVALID_VALUE;
  if (!gather(kernel->parameters, parameters, extra, &bytes)) return CUDA_ERROR_INVALID_VALUE;
  Work work = kernel->work(bytes.data());
  work.latency_ns = kLaunchCost + kLaunchLatency;
  wait_for_room(call, *stream);
  const Held held = hold_device();
  return enqueue(stream, std::move(work));
}

CUresult launch_ex(Null null, const CUlaunchConfig* c, CUfunction function, void** parameters, void** extra) {
  if (!c || (c->numAttrs > 0 && !c->attrs)) return CUDA_ERROR_INVALID_VALUE;
  const Shape shape{{c->gridDimX, c->gridDimY, c->gridDimZ}, {c->blockDimX, c->blockDimY, c->blockDimZ}};
  return launch(null, function, shape, c->hStream, parameters, extra);
}

}  // namespace
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
