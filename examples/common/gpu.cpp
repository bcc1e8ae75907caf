#include "gpu.h"

#include <cstdlib>

#include "kernels_ptx.h"

namespace example {

void fail(CUresult result, const char* call, const char* file, int line) {
  const char* name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  std::fprintf(stderr, "%s:%d: %s: %s (%d)\n", file, line, call, name, static_cast<int>(result));
  std::exit(1);
}

Gpu::Gpu() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&fill_, module, "fill"));
  CHECK(cuModuleGetFunction(&copy_, module, "copy"));
  CHECK(cuModuleGetFunction(&add_, module, "add"));
  if (const char* half = std::getenv("EXAMPLE_HALF")) half_ = half;
  ready_ns_ = now_ns();
}

Gpu::~Gpu() {
  const char* name = std::getenv("EXAMPLE_TIME_FILE");
  if (name == nullptr) return;
  const double seconds = static_cast<double>(now_ns() - ready_ns_) * 1e-9;
  if (FILE* file = std::fopen(name, "w")) {
    std::fprintf(file, "%.9f\n", seconds);
    std::fclose(file);
  }
}

void Gpu::launch(CUfunction kernel, CUstream stream, void** parameters) {
  CHECK(cuLaunchKernel(kernel, 32, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
}

void Gpu::fill(CUdeviceptr destination, uint32_t value, size_t count, uint64_t duration_us, CUstream stream) {
  uint64_t words = count, ns = duration_us * 1000 / (half_ == "fill" ? 2 : 1);
  void* parameters[] = {&destination, &value, &words, &ns};
  launch(fill_, stream, parameters);
}

void Gpu::copy(CUdeviceptr destination, CUdeviceptr source, size_t count, uint64_t duration_us,
               CUstream stream) {
  uint64_t words = count, ns = duration_us * 1000 / (half_ == "copy" ? 2 : 1);
  void* parameters[] = {&destination, &source, &words, &ns};
  launch(copy_, stream, parameters);
}

void Gpu::add(CUdeviceptr destination, CUdeviceptr a, CUdeviceptr b, size_t count, uint64_t duration_us,
              CUstream stream) {
  uint64_t words = count, ns = duration_us * 1000 / (half_ == "add" ? 2 : 1);
  void* parameters[] = {&destination, &a, &b, &words, &ns};
  launch(add_, stream, parameters);
}

float* pinned_floats(size_t count) {
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, count * sizeof(float)));
  return static_cast<float*>(memory);
}

}  // namespace example
