// The same data is uploaded again and again, and read back; then its memory is freed, and the context ends. What comes next may
// lie at the same addresses.
#include <cstring>

#include "cuda_user.h"

int main() {
  CUdevice device = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  constexpr size_t kMuch = 2 << 20;
  auto* result = static_cast<uint32_t*>(malloc(kMuch));
  auto* pageable = static_cast<uint32_t*>(malloc(kMuch));
  memset(pageable, 5, kMuch);
  for (uint32_t phase = 0; phase < 6; ++phase) {
    CUcontext context = nullptr;
    CUdeviceptr memory = 0;
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc(&memory, kMuch));
    for (uint32_t block = 0; block < 3; ++block) {
      void* pinned = nullptr;
      CHECK(cuMemAllocHost(&pinned, kMuch));
      auto* words = static_cast<uint32_t*>(pinned);
      for (uint32_t i = 0; i < kMuch / 4; ++i) words[i] = i * 2654435761u + phase + block;
      for (int i = 0; i < 6; ++i) CHECK(cuMemcpyHtoD(memory, pinned, kMuch));
      CHECK(cuMemFreeHost(pinned));
      CHECK(cuMemcpyDtoH(result, memory, kMuch));
      say("%u %u\n", result[0], result[kMuch / 4 - 1]);
      for (int i = 0; i < 5; ++i) CHECK(cuMemcpyHtoD(memory, pageable, kMuch));
      CHECK(cuCtxSynchronize());
    }
    if (phase % 2 == 0) {
      CHECK(cuDevicePrimaryCtxReset(device));
    } else {
      CHECK(cuMemFree(memory));
      CHECK(cuDevicePrimaryCtxRelease(device));
    }
  }
}
