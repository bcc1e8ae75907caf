// events: more streams than are followed, and one event that is recorded in each in turn. A wait for it covers its last record.
#include <cstdio>

#include "gpu.h"
#include "kernels_ptx.h"

int main() {
  constexpr uint32_t kStreams = 80;
  constexpr size_t kWords = 16 * 1024;
  example::Gpu gpu;
  CUmodule module = nullptr;
  CUfunction fill = nullptr;
  CUdeviceptr device = 0;
  CUevent event = nullptr;
  void* memory = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&fill, module, "fill"));
  CHECK(cuMemAllocHost(&memory, kWords * sizeof(uint32_t)));
  CHECK(cuMemAlloc(&device, kWords * sizeof(uint32_t)));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  auto* result = static_cast<uint32_t*>(memory);
  int wrong = 0;
  for (uint32_t i = 0; i < kStreams; ++i) {
    CUstream stream = nullptr;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    uint64_t words = kWords, ns = 2'000'000;
    uint32_t value = i;
    void* parameters[] = {&device, &value, &words, &ns};
    CHECK(cuLaunchKernel(fill, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
    CHECK(cuMemcpyDtoHAsync(result, device, kWords * sizeof(uint32_t), stream));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuEventSynchronize(event));
    wrong += result[0] != i;
  }
  std::printf("wrong: %d\n", wrong);
}
