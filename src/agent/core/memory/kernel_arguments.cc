#include "agent/core/memory/kernel_arguments.h"

#include "agent/core/calls/driver_calls.h"
#include "agent/core/lock.h"
#include "agent/core/pass_through.h"

namespace diogenes::agent {

namespace {

constinit Lock functions_lock;

}  // namespace

bool KernelArguments::sizes_of(uint64_t function, bool may_ask, Sizes& sizes) {
  {
    LockGuard guard(functions_lock);
    if (Sizes* found = known_.find(function)) {
      sizes = *found;
      return true;
    }
  }
  if (!may_ask) return false;
  // A kernel handle may stand for a function in a launch.
  PassThrough pass;
  auto size_of = [function](int parameter, size_t* bytes) {
    size_t offset = 0;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (driver_calls.func_get_param_info)
      result = driver_calls.func_get_param_info(reinterpret_cast<CUfunction>(function),
                                                static_cast<size_t>(parameter), &offset, bytes);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE && driver_calls.kernel_get_param_info)
      result = driver_calls.kernel_get_param_info(reinterpret_cast<CUkernel>(function),
                                                  static_cast<size_t>(parameter), &offset, bytes);
    return result;
  };
  sizes.count = 0;
  for (;;) {
    size_t bytes = 0;
    CUresult result = size_of(sizes.count, &bytes);
    if (result == CUDA_ERROR_INVALID_VALUE) break;  // one behind the last
    if (result != CUDA_SUCCESS || bytes > 0xffff || sizes.count == kParameters) return false;
    sizes.bytes[sizes.count++] = static_cast<uint16_t>(bytes);
  }
  LockGuard guard(functions_lock);
  known_.insert(function, sizes);
  return true;
}

void KernelArguments::forget_functions() {
  LockGuard guard(functions_lock);
  known_.clear();
}

void KernelArguments::scan(const Call& call, const AddressBounds& bounds, bool may_ask,
                           KernelAddresses& addresses) {
  uint64_t function = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  switch (call.driver->arguments) {
    case Arguments::launch:
      function = call.argument(0), parameters = call.pointer<void**>(9), extra = call.pointer<void**>(10);
      break;
    case Arguments::launch_cooperative:
      function = call.argument(0), parameters = call.pointer<void**>(9);
      break;
    case Arguments::launch_ex:
      function = call.argument(1), parameters = call.pointer<void**>(2), extra = call.pointer<void**>(3);
      break;
    default:
      addresses.unknown = true;
      return;
  }
  scan(function, parameters, extra, bounds, may_ask, addresses);
}

void KernelArguments::scan(uint64_t function, void* const* parameters, void* const* extra,
                           const AddressBounds& bounds, bool may_ask, KernelAddresses& addresses) {
  Sizes sizes;
  const bool known = sizes_of(function, may_ask, sizes);
  if (known && sizes.count == 0) return;  // the driver has read nothing, so it may not be there
  if (parameters) {
    if (!known) {
      addresses.unknown = true;
      return;
    }
    for (int i = 0; i < sizes.count; ++i) {
      // From the parameter's own start: it need not be aligned where the program keeps it.
      if (!parameters[i]) continue;
      scan_words(parameters[i], sizes.bytes[i], bounds, addresses);
    }
  } else if (extra) {
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (int i = 0; i < 16 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
      if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[i + 1];
      if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
        bytes = *static_cast<size_t*>(extra[i + 1]);
    }
    if (buffer && bytes <= 1 << 16)
      scan_words(buffer, bytes, bounds, addresses);
    else
      addresses.unknown = true;
  }
}

}  // namespace diogenes::agent
