// seldom: waits in each of 60 steps for sums in pinned memory that the GPU writes, and uses them in each tenth. seldom needed:
// waits only there.
#include <string_view>

#include "cuda_user.h"

int main(int count, char** arguments) {
  const bool needed_only = count > 1 && std::string_view(arguments[1]) == "needed";
  const CudaUser user;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  CUdeviceptr one, sums;
  void* seen = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuMemAlloc(&one, kBytes));
  CHECK(cuMemsetD32(one, 0x3f800000, kWords));
  CHECK(cuMemAllocHost(&seen, kBytes));
  CHECK(cuMemHostGetDevicePointer(&sums, seen, 0));
  CHECK(cuMemsetD32(sums, 0, kWords));
  CHECK(cuCtxSynchronize());
  double total = 0;
  for (int step = 0; step < 60; ++step) {
    uint64_t words = kWords, ns = 300'000;
    void* parameters[] = {&sums, &sums, &one, &words, &ns};
    CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    if (!needed_only || step % 10 == 9) CHECK(cuStreamSynchronize(nullptr));
    if (step % 10 == 9) total += static_cast<double>(static_cast<volatile float*>(seen)[7]);
  }
  say("%g\n", total);
  return 0;
}
