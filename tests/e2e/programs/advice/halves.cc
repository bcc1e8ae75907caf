// halves: the two halves of a round run in streams of their own, and their results come back by plain copies in the default
// stream, which wait for both: the CPU gets the short half only when the long one is done. halves streams: each result comes by
// a copy in its half's stream.
#include <string_view>

#include "cuda_user.h"

static double work(const float* values) {
  double sum = 0;
  for (int round = 0; round < 200; ++round)
    for (size_t i = 0; i < kWords; ++i) sum = sum * 0.999 + static_cast<double>(values[i]);
  return sum;
}

int main(int count, char** arguments) {
  const bool own = count > 1 && std::string_view(arguments[1]) == "streams";
  const CudaUser user;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  CUstream streams[2];
  CUdeviceptr halves[2];
  void* results[2];
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  for (int i = 0; i < 2; ++i) {
    CHECK(cuStreamCreate(&streams[i], CU_STREAM_DEFAULT));
    CHECK(cuMemAlloc(&halves[i], kBytes));
    CHECK(cuMemAllocHost(&results[i], kBytes));
    CHECK(cuMemsetD32(halves[i], 0x3c000000, kWords));
  }
  CHECK(cuCtxSynchronize());
  double seen = 0;
  for (int round = 0; round < 16; ++round) {
    for (int i = 0; i < 2; ++i) {
      uint64_t words = kWords, ns = i == 0 ? 200'000 : 20'000'000;
      void* parameters[] = {&halves[i], &halves[i], &halves[i], &words, &ns};
      CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, streams[i], parameters, nullptr));
    }
    for (int i = 0; i < 2; ++i) {
      if (own) {
        CHECK(cuMemcpyDtoHAsync(results[i], halves[i], kBytes, streams[i]));
        CHECK(cuStreamSynchronize(streams[i]));
      } else if (i == 0) {
        CHECK(cuMemcpyDtoH(results[0], halves[0], kBytes));
      } else {
        CHECK(cuMemcpyDtoH(results[1], halves[1], kBytes));
      }
      seen += work(static_cast<const float*>(results[i]));
    }
  }
  say("%g\n", seen);
  return 0;
}
