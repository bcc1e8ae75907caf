// wanted HOW: what a step computed is asked for in each step, in ways that are needed as they are written. flag: by a copy of 4
// bytes, behind a wait for the device that takes over all of its time; readback: by an asynchronous copy to pageable memory;
// poll: by a loop of queries. parts: what a step needs is sent in 16 parts.
#include <iterator>
#include <string_view>

#include "cuda_user.h"

static float scalar;

int main(int count, char** arguments) {
  const std::string_view how = count > 1 ? arguments[1] : "";
  CudaUser user;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  CUdeviceptr sum = 0;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuMemAlloc(&sum, kBytes));
  CHECK(cuMemsetD32(sum, 0, kWords));
  double seen = 0;
  for (int step = 0; step < 100; ++step) {
    uint64_t words = kWords, ns = 300'000;
    float part[16] = {};
    for (size_t i = 0; how == "parts" && i < std::size(part); ++i) {
      part[i] = static_cast<float>(step) + static_cast<float>(i);
      CHECK(cuMemcpyHtoD(sum + i * sizeof(float), &part[i], sizeof(float)));
    }
    void* parameters[] = {&sum, &sum, &sum, &words, &ns};
    CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    if (how == "flag") {
      CHECK(cuCtxSynchronize());
      CHECK(cuMemcpyDtoH(&scalar, sum, sizeof scalar));
      if (scalar > 1e30f) break;
    } else if (how == "readback") {
      CHECK(cuMemcpyDtoHAsync(&scalar, sum, sizeof scalar, nullptr));
      CHECK(cuStreamSynchronize(nullptr));
      if (scalar > 1e30f) break;
    } else if (how == "poll") {
      CUresult result = CUDA_SUCCESS;
      while ((result = cuStreamQuery(nullptr)) == CUDA_ERROR_NOT_READY) continue;
      CHECK(result);
    }
    for (int i = 0; i < 200'000; ++i) seen = seen * 0.999 + 1;
  }
  CHECK(cuCtxSynchronize());
  say("%g\n", seen);
  return 0;
}
