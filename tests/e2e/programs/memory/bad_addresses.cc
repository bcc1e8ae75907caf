// bad_addresses: calls that are given addresses of memory that is not there, each in a process of its own.
// What they return, and what the program dies of, does not depend on who looks on.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "cuda_user.h"

namespace {

struct Fixture : CudaUser {
  CUmodule module = nullptr;
  CUfunction fill = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr device = 0;
  uint64_t words = kWords, ns = 0;
  uint32_t value = 1;
  CUlaunchConfig shape{};
  char *gone, *half, *closed;  // unmapped; the second half is; nobody may read it

  Fixture() {
    CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
    CHECK(cuModuleGetFunction(&fill, module, "fill"));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuMemAlloc(&device, kBytes));
    shape.gridDimX = shape.gridDimY = shape.gridDimZ = 1;
    shape.blockDimX = shape.blockDimY = shape.blockDimZ = 1;
    auto pages = [] {
      return static_cast<char*>(
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    };
    gone = pages(), half = pages(), closed = pages();
    munmap(gone, kBytes);
    munmap(half + kBytes / 2, kBytes / 2);
    mprotect(closed, kBytes, PROT_NONE);
  }

  CUresult launch(void** parameters, void** extra = nullptr) {
    return cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, extra);
  }
  CUresult launch_with(void* second) {
    void* parameters[] = {&device, second, &words, &ns};
    return launch(parameters);
  }
  CUresult add_kernel(void** parameters, void** extra = nullptr) {
    CUDA_KERNEL_NODE_PARAMS_v2 node{};
    node.func = fill;
    node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimX = node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = parameters, node.extra = extra;
    CUgraphNode added = nullptr;
    return cuGraphAddKernelNode(&added, graph, nullptr, 0, &node);
  }
};

template <typename T>
T* at(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

struct Case {
  const char* what;
  CUresult (*make)(Fixture&);
};

#define CASE(what, call)                                               \
  {                                                                    \
    what, []([[maybe_unused]] Fixture& f) -> CUresult { return call; } \
  }
#define CALLED(what, ...)                                             \
  {                                                                   \
    what, []([[maybe_unused]] Fixture& f) -> CUresult { __VA_ARGS__ } \
  }
const Case kCases[] = {
    CASE("launch, good", f.launch_with(&f.value)),
    CASE("launch, no parameters", f.launch(nullptr)),
    CASE("launch, parameters nowhere", f.launch(at<void*>(16))),
    CASE("launch, parameters gone", f.launch(reinterpret_cast<void**>(f.gone))),
    CASE("launch, null parameter", f.launch_with(nullptr)),
    CASE("launch, parameter nowhere", f.launch_with(at<void>(16))),
    CASE("launch, parameter gone", f.launch_with(f.gone)),
    CASE("launch, parameter closed", f.launch_with(f.closed)),
    CASE("launch, buffer nowhere", f.launch(nullptr, at<void*>(16))),
    CASE("launch, no function, parameters nowhere",
         cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, at<void*>(16), nullptr)),
    CASE("launch, no blocks, parameters nowhere",
         cuLaunchKernel(f.fill, 0, 1, 1, 1, 1, 1, 0, nullptr, at<void*>(16), nullptr)),
    CASE("launch, both ways", f.launch(at<void*>(16), at<void*>(16))),
    CASE("launch, no configuration", cuLaunchKernelEx(nullptr, f.fill, nullptr, nullptr)),
    CASE("launch, configuration nowhere", cuLaunchKernelEx(at<CUlaunchConfig>(16), f.fill, nullptr, nullptr)),
    CASE("launch, configuration, parameters nowhere",
         cuLaunchKernelEx(&f.shape, nullptr, at<void*>(16), nullptr)),
    CASE("upload from null", cuMemcpyHtoD(f.device, nullptr, kBytes)),
    CASE("upload from nowhere", cuMemcpyHtoD(f.device, at<void>(16), kBytes)),
    CASE("upload, half gone", cuMemcpyHtoD(f.device, f.half, kBytes)),
    CASE("upload, closed", cuMemcpyHtoD(f.device, f.closed, kBytes)),
    CASE("upload to nothing", cuMemcpyHtoD(16, &f.words, 8)),
    CASE("upload of nothing", cuMemcpyHtoD(f.device, f.gone, 0)),
    CASE("upload of everything", cuMemcpyHtoD(f.device, f.gone, ~size_t{0} >> 1)),
    CASE("asynchronous upload, gone", cuMemcpyHtoDAsync(f.device, f.gone, kBytes, nullptr)),
    CASE("download to null", cuMemcpyDtoH(nullptr, f.device, kBytes)),
    CASE("download, gone", cuMemcpyDtoH(f.gone, f.device, kBytes)),
    CASE("download, half gone", cuMemcpyDtoH(f.half, f.device, kBytes)),
    CASE("download, closed", cuMemcpyDtoH(f.closed, f.device, kBytes)),
    CASE("asynchronous download, gone", cuMemcpyDtoHAsync(f.gone, f.device, kBytes, nullptr)),
    CASE("asynchronous download to null", cuMemcpyDtoHAsync(nullptr, f.device, kBytes, nullptr)),
    CASE("copy, gone", cuMemcpy(f.device, reinterpret_cast<CUdeviceptr>(f.gone), kBytes)),
    CASE("2D copy of nothing", cuMemcpy2D(nullptr)),
    CASE("2D copy of nowhere", cuMemcpy2D(at<CUDA_MEMCPY2D>(16))),
    CASE("2D copy, gone", cuMemcpy2D(reinterpret_cast<CUDA_MEMCPY2D*>(f.gone))),
    CASE("asynchronous 2D copy of nothing", cuMemcpy2DAsync(nullptr, nullptr)),
    CALLED("2D copy, rows gone", CUDA_MEMCPY2D copy{}; copy.srcMemoryType = CU_MEMORYTYPE_HOST;
           copy.srcHost = f.half; copy.dstMemoryType = CU_MEMORYTYPE_DEVICE; copy.dstDevice = f.device;
           copy.WidthInBytes = 64; copy.srcPitch = copy.dstPitch = 4096; copy.Height = 16;
           return cuMemcpy2D(&copy);),
    CASE("register, gone", cuMemHostRegister(f.gone, kBytes, 0)),
    CASE("register null", cuMemHostRegister(nullptr, kBytes, 0)),
    CASE("register, half gone", cuMemHostRegister(f.half, kBytes, 0)),
    CASE("unregister, gone", cuMemHostUnregister(f.gone)),
    CASE("free null", cuMemFree(0)),
    CASE("free, gone", cuMemFree(reinterpret_cast<CUdeviceptr>(f.gone))),
    CASE("free pinned, gone", cuMemFreeHost(f.gone)),
    CASE("allocate for nobody", cuMemAlloc(nullptr, kBytes)),
    CASE("allocate pinned for nobody", cuMemAllocHost(nullptr, kBytes)),
    CALLED("allocate rows for nobody", CUdeviceptr memory = 0;
           return cuMemAllocPitch(&memory, nullptr, 64, 16, 4);),
    CALLED("allocate rows nowhere", CUdeviceptr memory = 0;
           return cuMemAllocPitch(&memory, at<size_t>(16), 64, 16, 5);),
    CALLED("function without a name", CUfunction function = nullptr;
           return cuModuleGetFunction(&function, f.module, nullptr);),
    CALLED("function, name nowhere", CUfunction function = nullptr;
           return cuModuleGetFunction(&function, f.module, at<char>(16));),
    CASE("function for nobody", cuModuleGetFunction(nullptr, f.module, "fill")),
    CALLED("variable without a name", CUdeviceptr memory = 0; size_t bytes = 0;
           return cuModuleGetGlobal(&memory, &bytes, f.module, nullptr);),
    CALLED("variable, name nowhere", CUdeviceptr memory = 0; size_t bytes = 0;
           return cuModuleGetGlobal(&memory, &bytes, f.module, at<char>(16));),
    CALLED("driver function without a name", void* function = nullptr;
           return cuGetProcAddress(nullptr, &function, 12000, 0, nullptr);),
    CALLED("driver function, name nowhere", void* function = nullptr;
           return cuGetProcAddress(at<char>(16), &function, 12000, 0, nullptr);),
    CASE("stream for nobody", cuStreamCreate(nullptr, 0)),
    CASE("event for nobody", cuEventCreate(nullptr, 0)),
    CASE("graph, no kernel", f.add_kernel(nullptr)),
    CASE("graph, parameters nowhere", f.add_kernel(at<void*>(16))),
    CALLED("graph, kernel gone", CUgraphNode node = nullptr; return cuGraphAddKernelNode(
               &node, f.graph, nullptr, 0, reinterpret_cast<CUDA_KERNEL_NODE_PARAMS_v2*>(f.gone));),
    CALLED("graph, no host function", CUgraphNode node = nullptr;
           return cuGraphAddHostNode(&node, f.graph, nullptr, 0, nullptr);),
    CALLED("graph, host function gone", CUgraphNode node = nullptr; return cuGraphAddHostNode(
               &node, f.graph, nullptr, 0, reinterpret_cast<CUDA_HOST_NODE_PARAMS*>(f.gone));),
    CASE("graph for nobody", cuGraphInstantiateWithFlags(nullptr, f.graph, 0)),
    CASE("host function of nobody", cuLaunchHostFunc(nullptr, nullptr, nullptr)),
};

}  // namespace

int main() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (const Case& one : kCases) {
    const pid_t child = fork();
    if (child == 0) {
      Fixture fixture;
      say("%s: %d", one.what, static_cast<int>(one.make(fixture)));
      say(", then %d", static_cast<int>(cuCtxSynchronize()));
      say(", %d\n", static_cast<int>(fixture.launch_with(&fixture.value)));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) say("%s: killed by %d\n", one.what, WTERMSIG(status));
  }
  return 0;
}
