// What the examples on the driver API share: error checks, the GPU with its kernels, pinned memory. The calls
// that an example is about are made in the example itself, so that a report names its file and line.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "host.h"

namespace example {

// CHECK(cuMemFree(p)): on an error, says which call failed, where and why, and ends the program.
[[noreturn]] void fail(CUresult result, const char* call, const char* file, int line);
#define CHECK(call)                                                                           \
  do {                                                                                        \
    const CUresult check_result = (call);                                                     \
    if (check_result != CUDA_SUCCESS) example::fail(check_result, #call, __FILE__, __LINE__); \
  } while (0)

// Device 0, its primary context (made current) and the kernels. `duration` is how long a launch keeps the GPU
// busy. Sizes are in elements of 4 bytes. Where EXAMPLE_TIME_FILE is set, the seconds from the end of the
// constructor to the destructor are written to that file: what a fixed variant gains lies in between, and the
// start of the driver does not. EXAMPLE_HALF=fill makes all launches of that kernel half as long: what the run gains so is
// what a faster kernel gains.
class Gpu {
 public:
  Gpu();
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void fill(CUdeviceptr destination, uint32_t value, size_t count, uint64_t duration_us, CUstream = nullptr);
  void copy(CUdeviceptr destination, CUdeviceptr source, size_t count, uint64_t duration_us,
            CUstream = nullptr);
  // destination[i] = a[i] + b[i], as floats
  void add(CUdeviceptr destination, CUdeviceptr a, CUdeviceptr b, size_t count, uint64_t duration_us,
           CUstream = nullptr);

 private:
  void launch(CUfunction kernel, CUstream stream, void** parameters);
  int64_t ready_ns_ = 0;
  std::string half_;  // a kernel's name
  CUfunction fill_ = nullptr, copy_ = nullptr, add_ = nullptr;
};

// Memory for transfers: pinned, page aligned, never freed (the end of the process does that).
float* pinned_floats(size_t count);

}  // namespace example
