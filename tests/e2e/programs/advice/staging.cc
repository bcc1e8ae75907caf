// staging: staging memory and a workspace are allocated in each step. Two changes are right alone, and not together: that the
// memory is allocated once, and that the event is not waited for. staging once: the first. staging both: both, which is wrong.
#include <time.h>

#include <cstring>
#include <string_view>

#include "cuda_user.h"

static void work_for(long microseconds) {
  timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const long until = end.tv_sec * 1'000'000 + end.tv_nsec / 1000 + microseconds;
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while (now.tv_sec * 1'000'000 + now.tv_nsec / 1000 < until);
}

struct Memory {
  void* stage = nullptr;
  CUdeviceptr workspace = 0;
  void allocate() {
    CHECK(cuMemAllocHost(&stage, kBytes));
    CHECK(cuMemAlloc(&workspace, kBytes));
  }
  void release() const {
    CHECK(cuMemFree(workspace));
    CHECK(cuMemFreeHost(stage));
  }
};

int main(int count, char** arguments) {
  const std::string_view how = count > 1 ? arguments[1] : "";
  const bool once = !how.empty(), waits = how != "both";
  const CudaUser user;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr sum = 0;
  Memory memory;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&sum, kBytes));
  CHECK(cuMemsetD32(sum, 0, kWords));
  if (once) memory.allocate();
  for (int step = 0; step < 60; ++step) {
    if (!once) memory.allocate();
    for (size_t i = 0; i < kWords; ++i) static_cast<uint32_t*>(memory.stage)[i] = static_cast<uint32_t>(step);
    uint64_t words = kWords, ns = 2'000'000;
    CHECK(cuMemcpyHtoDAsync(memory.workspace, memory.stage, kBytes, stream));
    void* parameters[] = {&sum, &sum, &memory.workspace, &words, &ns};
    CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
    CHECK(cuEventRecord(event, stream));
    work_for(100);
    if (waits) CHECK(cuEventSynchronize(event));
    if (!once) memory.release();
  }
  CHECK(cuStreamSynchronize(stream));
  uint32_t first = 0;
  CHECK(cuMemcpyDtoH(&first, sum, sizeof first));
  say("%u\n", first);
  return 0;
}
