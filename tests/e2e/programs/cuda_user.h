// What the test programs need of CUDA: some work on the GPU whose result is known, copied to memory of the
// caller's. Results go to stdout in one write each, so that programs that fork or die print nothing twice and
// lose nothing.
#pragma once
#include <cuda.h>
#include <stdarg.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "kernels_ptx.h"

inline void say(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (write(1, text, static_cast<size_t>(length)) != length) _exit(99);
}

#define CHECK(call)                                                 \
  do {                                                              \
    const CUresult check_result = (call);                           \
    if (check_result != CUDA_SUCCESS) {                             \
      say("%s: error %d\n", #call, static_cast<int>(check_result)); \
      _exit(98);                                                    \
    }                                                               \
  } while (0)

constexpr size_t kWords = 16 * 1024;  // 64 KiB: several pages, so that they can be guarded
constexpr size_t kBytes = kWords * sizeof(uint32_t);

class CudaUser {
 public:
  CudaUser() {
    CUdevice device = 0;
    CUmodule module = nullptr;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context_, device));
    use_on_this_thread();
    CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
    CHECK(cuModuleGetFunction(&fill_, module, "fill"));
  }

  void use_on_this_thread() { CHECK(cuCtxSetCurrent(context_)); }

  // Fills with `value` on the GPU and copies to `destination`, kBytes of any host memory. Nobody has read it
  // yet.
  void compute(void* destination, uint32_t value) {
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(&memory, kBytes));
    uint64_t words = kWords, ns = 200'000;
    void* parameters[] = {&memory, &value, &words, &ns};
    CHECK(cuLaunchKernel(fill_, 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuMemcpyDtoH(destination, memory, kBytes));
    CHECK(cuMemFree(memory));
  }

  // The same into pinned memory, asynchronously, then waited for.
  void compute_pinned(uint32_t* pinned, uint32_t value) {
    begin_pinned(pinned, value, nullptr);
    CHECK(cuStreamSynchronize(nullptr));
  }
  void begin_pinned(uint32_t* pinned, uint32_t value, CUstream stream) {
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(&memory, kBytes));
    uint64_t words = kWords, ns = 200'000;
    void* parameters[] = {&memory, &value, &words, &ns};
    CHECK(cuLaunchKernel(fill_, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
    CHECK(cuMemcpyDtoHAsync(pinned, memory, kBytes, stream));
  }

  // Keeps the GPU busy for so long.
  void fill(CUdeviceptr memory, uint64_t words, uint64_t ns, CUstream stream = nullptr) {
    uint32_t value = 1;
    void* parameters[] = {&memory, &value, &words, &ns};
    CHECK(cuLaunchKernel(fill_, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  }

  static uint32_t* pinned() {
    void* memory = nullptr;
    CHECK(cuMemAllocHost(&memory, kBytes));
    return static_cast<uint32_t*>(memory);
  }

 private:
  CUcontext context_ = nullptr;
  CUfunction fill_ = nullptr;
};

inline uint64_t sum(const void* data) {
  const auto* words = static_cast<const uint32_t*>(data);
  uint64_t result = 0;
  for (size_t i = 0; i < kWords; ++i) result += words[i];
  return result;
}
