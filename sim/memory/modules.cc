#include "modules.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "calls/wait.h"

namespace diogenes::sim {
namespace {

// Guarded by the device lock.
struct Modules {
  std::unordered_map<const void*, std::unique_ptr<Module>> modules;
  std::unordered_set<const void*> functions;
};
Modules& all_modules() {
  static Modules* modules = new Modules;
  return *modules;
}

Module* find_module(const void* handle) {
  const auto found = all_modules().modules.find(handle);
  return found == all_modules().modules.end() ? nullptr : found->second.get();
}

void forget(Module& module) {
  for (const auto& function : module.functions) all_modules().functions.erase(function.get());
  release_variables(module.variables);
}

// An ELF file or a fat binary, with or without its wrapper. Reads no further than the text goes.
bool is_binary(const char* image) {
  return strncmp(image,
                 "\x7f"
                 "ELF",
                 4) == 0 ||
         strncmp(image, "\x50\xed\x55\xba", 4) == 0 || strncmp(image, "\xb1\x43\x62\x46", 4) == 0;
}

// Makes a module of PTX text. `context` null: a library.
CUresult make_module(const char* text, Context* context, void** handle) {
  if (is_binary(text)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  auto entries = parse_ptx(text);
  if (!entries) return CUDA_ERROR_INVALID_PTX;
  auto module = std::make_unique<Module>();
  module->context = context;
  for (PtxEntry& entry : *entries) {
    auto function = std::make_unique<Function>();
    function->module = module.get();
    function->kernel = find_kernel(entry);
    function->entry = std::move(entry);
    module->functions.push_back(std::move(function));
  }
  if (!make_variables(text, module->context, module->variables)) return CUDA_ERROR_OUT_OF_MEMORY;
  const Held held = hold_device();
  for (const auto& function : module->functions) all_modules().functions.insert(function.get());
  *handle = module.get();
  all_modules().modules[*handle] = std::move(module);
  return CUDA_SUCCESS;
}

bool read_file(const char* path, std::string* text) {
  FILE* file = fopen(path, "rbe");
  if (!file) return false;
  char buffer[4096];
  for (size_t size; (size = fread(buffer, 1, sizeof buffer, file)) > 0;) text->append(buffer, size);
  fclose(file);
  return true;
}

// Loading and unloading wait for the device.
CUresult wait_for_context(ApiCall& call) {
  if (!call.context) return CUDA_SUCCESS;
  std::vector<OpPtr> ops;
  {
    const Held held = hold_device();
    ops = outstanding(*call.context);
  }
  return wait_for(call, ops);
}

CUresult load(CUmodule* module, const void* image) {
  DRIVER_CALL(a_context);
  call.costs(kModuleCost);
  if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = wait_for_context(call)) return error;
  void* handle;
  const CUresult result = make_module(static_cast<const char*>(image), call.context, &handle);
  if (result == CUDA_SUCCESS) *module = static_cast<CUmodule>(handle);
  return result;
}

CUresult unload(const void* handle, bool library) {
  DRIVER_CALL(a_context);
  call.costs(kModuleCost);
  {
    const Held held = hold_device();
    const Module* module = find_module(handle);
    if (!module || (module->context == nullptr) != library) return CUDA_ERROR_INVALID_HANDLE;
  }
  const CUresult error = wait_for_context(call);
  const Held held = hold_device();
  const auto found = all_modules().modules.find(handle);
  if (found == all_modules().modules.end()) return CUDA_ERROR_INVALID_HANDLE;
  forget(*found->second);
  all_modules().modules.erase(found);
  return error;
}

CUresult get_function(void** function, const void* module_handle, const char* name) {
  DRIVER_CALL(a_context);
  if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Module* module = find_module(module_handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& candidate : module->functions) {
    if (candidate->entry.name != name) continue;
    if (!candidate->kernel) return CUDA_ERROR_NOT_FOUND;  // its error string says which kernels are known
    *function = candidate.get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult count_functions(unsigned* count, const void* handle) {
  DRIVER_CALL(a_context);
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Module* module = find_module(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(module->functions.size());
  return CUDA_SUCCESS;
}

template <typename Handle>
CUresult enumerate(Handle* functions, unsigned count, const void* handle) {
  DRIVER_CALL(a_context);
  if (!functions) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Module* module = find_module(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  for (unsigned i = 0; i < count && i < module->functions.size(); ++i)
    functions[i] = reinterpret_cast<Handle>(module->functions[i].get());
  return CUDA_SUCCESS;
}

CUresult parameter_info(const void* handle, size_t index, size_t* offset, size_t* bytes) {
  DRIVER_CALL(nothing);
  if (!offset) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Function* function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (index >= function->entry.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->entry.parameters[index].offset;
  if (bytes) *bytes = function->entry.parameters[index].bytes;
  return CUDA_SUCCESS;
}

CUresult attribute(int* value, CUfunction_attribute wanted, const void* handle) {
  DRIVER_CALL(nothing);
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Function* function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  switch (wanted) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 16;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = 70;
      break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = 90;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = function->dynamic_shared ? function->dynamic_shared : 49152;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = -1;
      break;
    default:
      if (wanted < 0 || wanted >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
      *value = 0;
  }
  return CUDA_SUCCESS;
}

CUresult name_of(const char** name, const void* handle) {
  DRIVER_CALL(nothing);
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Function* function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  *name = function->entry.name.c_str();
  return CUDA_SUCCESS;
}

template <typename Handle>
CUresult owner_of(Handle* owner, const void* handle) {
  DRIVER_CALL(nothing);
  if (!owner) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  const Function* function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  *owner = reinterpret_cast<Handle>(function->module);
  return CUDA_SUCCESS;
}

CUresult check_function(const void* handle) {
  DRIVER_CALL(nothing);
  const Held held = hold_device();
  return find_function(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult get_global(CUdeviceptr* address, size_t* bytes, const void* handle, const char* name) {
  DRIVER_CALL(a_context);
  const Held held = hold_device();
  const Module* module = find_module(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  for (const Variable& variable : module->variables.list) {
    if (variable.name != name) continue;
    if (address) *address = variable.base;
    if (bytes) *bytes = variable.bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult load_library(CUlibrary* library, const void* code) {
  DRIVER_CALL(nothing);
  call.costs(kModuleCost);
  if (!library || !code) return CUDA_ERROR_INVALID_VALUE;
  void* handle;
  const CUresult result = make_module(static_cast<const char*>(code), nullptr, &handle);
  if (result == CUDA_SUCCESS) *library = static_cast<CUlibrary>(handle);
  return result;
}

CUresult occupancy(int* blocks, const void* handle, int block_size) {
  DRIVER_CALL(a_context);
  if (!blocks || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  if (!find_function(handle)) return CUDA_ERROR_INVALID_HANDLE;
  *blocks = block_size > 1024 ? 0 : std::min(32, 2048 / ((block_size + 31) / 32 * 32));
  return CUDA_SUCCESS;
}

}  // namespace

Function* find_function(const void* handle) {
  return all_modules().functions.contains(handle) ? static_cast<Function*>(const_cast<void*>(handle))
                                                  : nullptr;
}

void forget_modules(const Context& context) {
  std::erase_if(all_modules().modules, [&](const auto& entry) {
    if (entry.second->context != &context) return false;
    forget(*entry.second);
    return true;
  });
}

}  // namespace diogenes::sim

using namespace diogenes::sim;

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  std::string text;
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  if (!read_file(path, &text)) return CUDA_ERROR_FILE_NOT_FOUND;
  return load(module, text.c_str());
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load(module, image); }
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return load(module, image);
}
CUresult cuModuleLoadFatBinary(CUmodule*, const void*) {
  DRIVER_CALL(a_context);
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
CUresult cuModuleUnload(CUmodule module) { return unload(module, false); }
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  DRIVER_CALL(nothing);
  if (!mode) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return get_function(reinterpret_cast<void**>(function), module, name);
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) { return count_functions(count, module); }
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  return enumerate(functions, count, module);
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return get_global(address, bytes, module, name);
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return load_library(library, code);
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**, unsigned,
                               CUlibraryOption*, void**, unsigned) {
  std::string text;
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  if (!read_file(path, &text)) return CUDA_ERROR_FILE_NOT_FOUND;
  return load_library(library, text.c_str());
}
CUresult cuLibraryUnload(CUlibrary library) { return unload(library, true); }
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return get_function(reinterpret_cast<void**>(kernel), library, name);
}
CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return count_functions(count, library);
}
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  return enumerate(kernels, count, library);
}
CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  DRIVER_CALL(a_context);
  if (!module) return CUDA_ERROR_INVALID_VALUE;
  const Held held = hold_device();
  if (!find_module(library)) return CUDA_ERROR_INVALID_HANDLE;
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return get_global(address, bytes, library, name);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_function(kernel)) return error;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) { return owner_of(library, kernel); }
CUresult cuKernelGetName(const char** name, CUkernel kernel) { return name_of(name, kernel); }
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return parameter_info(kernel, index, offset, bytes);
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute wanted, CUkernel kernel, CUdevice) {
  return attribute(value, wanted, kernel);
}
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return parameter_info(function, index, offset, bytes);
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute wanted, CUfunction function) {
  return attribute(value, wanted, function);
}
CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value) {
  DRIVER_CALL(nothing);
  const Held held = hold_device();
  Function* function = find_function(handle);
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) function->dynamic_shared = value;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) { return check_function(function); }
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig) { return check_function(function); }
CUresult cuFuncGetModule(CUmodule* module, CUfunction function) { return owner_of(module, function); }
CUresult cuFuncGetName(const char** name, CUfunction function) { return name_of(name, function); }

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size,
                                                     size_t) {
  return occupancy(blocks, function, block_size);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int block_size, size_t, unsigned) {
  return occupancy(blocks, function, block_size);
}
CUresult cuOccupancyMaxPotentialBlockSize(int* min_grid, int* block_size, CUfunction function,
                                          size_t (*)(int), size_t, int limit) {
  if (!min_grid || !block_size) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_function(function)) return error;
  *block_size = limit > 0 && limit < 1024 ? limit : 1024;
  *min_grid = 132 * 2;
  return CUDA_SUCCESS;
}
