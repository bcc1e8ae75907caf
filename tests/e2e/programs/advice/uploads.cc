// uploads: one buffer in pageable memory is filled and sent 60 times. uploads turns: two pinned buffers in turn, each filled again
// only when its copy is done. uploads pinned: the same buffer, pinned, which is filled while its copy is under way: another result.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cuda_user.h"

int main(int count, char** arguments) {
  const std::string_view how = count > 1 ? arguments[1] : "";
  constexpr size_t kManyWords = 16 * kWords, kManyBytes = 16 * kBytes;
  const CudaUser user;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  CUstream stream = nullptr;
  CUevent sent[2];
  CUdeviceptr values, sums;
  float* buffers[2];
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&values, kManyBytes));
  CHECK(cuMemAlloc(&sums, kManyBytes));
  CHECK(cuMemsetD32(sums, 0, kManyWords));
  CHECK(cuCtxSynchronize());
  for (int i = 0; i < 2; ++i) {
    CHECK(cuEventCreate(&sent[i], CU_EVENT_DISABLE_TIMING));
    void* memory = how.empty() ? malloc(kManyBytes) : nullptr;
    if (!how.empty()) CHECK(cuMemAllocHost(&memory, kManyBytes));
    memset(memory, 0, kManyBytes);
    buffers[i] = static_cast<float*>(memory);
  }
  for (int step = 0; step < 60; ++step) {
    const int turn = how == "turns" ? step % 2 : 0;
    if (how == "turns") CHECK(cuEventSynchronize(sent[turn]));
    buffers[turn][kManyWords - 1] = static_cast<float>(step);
    uint64_t words = kManyWords, ns = 1'000'000;
    CHECK(cuMemcpyHtoDAsync(values, buffers[turn], kManyBytes, stream));
    CHECK(cuEventRecord(sent[turn], stream));
    void* parameters[] = {&sums, &sums, &values, &words, &ns};
    CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  }
  CHECK(cuStreamSynchronize(stream));
  float last = 0;
  CHECK(cuMemcpyDtoH(&last, sums + kManyBytes - sizeof last, sizeof last));
  say("%g\n", static_cast<double>(last));
  return 0;
}
