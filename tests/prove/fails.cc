// fails: work that nothing needs to be waited for; then work that fails, and a wait that tells so. The program says what it was
// told. If that wait were deferred, it would not be told there.
#include <cstdio>

#include "gpu.h"

int main() {
  constexpr size_t kWords = 64 << 10;
  constexpr int kWorkUs = 2000;
  example::Gpu gpu;
  CUdeviceptr device = 0;
  CHECK(cuMemAlloc(&device, kWords * sizeof(uint32_t)));
  for (uint32_t turn = 0; turn < 20; ++turn) {
    gpu.fill(device, turn, kWords, kWorkUs);
    CHECK(cuCtxSynchronize());
    example::host_work(kWorkUs, turn);
  }
  constexpr CUdeviceptr kNowhere = 0x1000;
  gpu.fill(kNowhere, 0, kWords, kWorkUs);
  const char* name = nullptr;
  CHECK(cuGetErrorName(cuCtxSynchronize(), &name));
  printf("%s\n", name);
}
