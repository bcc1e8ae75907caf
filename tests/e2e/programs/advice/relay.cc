// relay: a kernel's result is used by a kernel of another stream. The CPU waits for the first one before it gives the second, and
// uses nothing of it. The first is so long that no wait finds it done on a busy machine. relay events: the second one's stream
// waits.
#include <string_view>
#include <vector>

#include "cuda_user.h"

static double prepare(double seed) {
  for (int round = 0; round < 400'000; ++round) seed = seed * 0.999 + 1;
  return seed;
}

int main(int count, char** arguments) {
  const bool events = count > 1 && std::string_view(arguments[1]) == "events";
  const CudaUser user;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  CUstream first, second;
  CUevent made, used;
  CUdeviceptr values, sums;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&used, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&values, kBytes));
  CHECK(cuMemAlloc(&sums, kBytes));
  CHECK(cuMemsetD32(values, 0x3c000000, kWords));
  CHECK(cuMemsetD32(sums, 0, kWords));
  CHECK(cuCtxSynchronize());
  double seen = 1;
  for (int round = 0; round < 40; ++round) {
    uint64_t words = kWords, long_ns = 25'000'000, short_ns = 100'000;
    void* make[] = {&values, &values, &values, &words, &long_ns};
    void* use[] = {&sums, &sums, &values, &words, &short_ns};
    CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, first, make, nullptr));
    if (events) {
      CHECK(cuEventRecord(made, first));
      CHECK(cuStreamWaitEvent(second, made, 0));
    } else {
      CHECK(cuStreamSynchronize(first));
    }
    seen = prepare(seen);
    CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, second, use, nullptr));
    CHECK(cuEventRecord(used, second));
    CHECK(cuStreamWaitEvent(first, used, 0));
  }
  CHECK(cuCtxSynchronize());
  std::vector<float> result(kWords);
  CHECK(cuMemcpyDtoH(result.data(), sums, kBytes));
  say("%g %g\n", seen, static_cast<double>(result[7]));
  return 0;
}
