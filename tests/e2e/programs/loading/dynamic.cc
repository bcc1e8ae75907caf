// dynamic dlopen|proc-address: not linked with libcuda. Loads it when it runs, and takes the functions from
// dlsym or from cuGetProcAddress; looks for some that do not exist as well.
#define DIOGENES_CUDA_NO_NAME_MAPPING
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static void* library;
static bool by_proc_address;

template <typename F>
static F* find(const char* name, const char* exported) {
  void* function = nullptr;
  if (by_proc_address) {
    auto* get = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
    CUdriverProcAddressQueryResult found;
    if (get(name, &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found) != CUDA_SUCCESS) function = nullptr;
  } else {
    function = dlsym(library, exported);
  }
  if (function == nullptr) {
    printf("%s not found\n", name);
    exit(92);
  }
  return reinterpret_cast<F*>(function);
}

static void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  printf("%s: error %d\n", call, static_cast<int>(result));
  exit(91);
}

int main(int, char** argv) {
  by_proc_address = strcmp(argv[1], "proc-address") == 0;
  library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    printf("%s\n", dlerror());
    return 90;
  }
  printf("a function that does not exist: %p\n", dlsym(library, "cuMakeCoffee"));
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  check(find<decltype(cuInit)>("cuInit", "cuInit")(0), "cuInit");
  check(find<decltype(cuDeviceGet)>("cuDeviceGet", "cuDeviceGet")(&device, 0), "cuDeviceGet");
  check(find<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain")(
            &context, device),
        "cuDevicePrimaryCtxRetain");
  check(find<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent", "cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  auto* allocate = find<decltype(cuMemAlloc_v2)>("cuMemAlloc", "cuMemAlloc_v2");
  auto* release = find<decltype(cuMemFree_v2)>("cuMemFree", "cuMemFree_v2");
  auto* set = find<decltype(cuMemsetD32_v2)>("cuMemsetD32", "cuMemsetD32_v2");
  auto* copy = find<decltype(cuMemcpyDtoH_v2)>("cuMemcpyDtoH", "cuMemcpyDtoH_v2");
  auto* host = static_cast<uint32_t*>(malloc(65536));
  for (uint32_t i = 0; i < 10; ++i) {
    check(allocate(&memory, 65536), "cuMemAlloc");
    check(set(memory, i, 16384), "cuMemsetD32");
    check(copy(host, memory, 65536), "cuMemcpyDtoH");
    uint64_t sum = 0;
    for (int word = 0; word < 16384; ++word) sum += host[word];
    printf("%lu\n", static_cast<unsigned long>(sum));
    check(release(memory), "cuMemFree");
  }
  return dlclose(library);
}
