// fickle FILE: waits for copies whose results it reads in the end only; where FILE exists, behind each wait. So what is true of
// the runs without the file is not true of those with it.
#include <unistd.h>

#include <cstdio>

#include "gpu.h"

int main(int count, char** words) {
  const bool reads = count > 1 && access(words[1], F_OK) == 0;
  constexpr size_t kWords = 64 << 10;
  constexpr int kTurns = 40;
  constexpr int kWorkUs = 2000;
  example::Gpu gpu;
  CUdeviceptr device = 0;
  CHECK(cuMemAlloc(&device, kWords * sizeof(float)));
  auto* results = reinterpret_cast<uint32_t*>(example::pinned_floats(kWords));
  uint64_t sum = 0;
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    gpu.fill(device, turn, kWords, kWorkUs);
    CHECK(cuMemcpyDtoHAsync(results, device, kWords * sizeof(float), nullptr));
    CHECK(cuStreamSynchronize(nullptr));
    if (reads) sum += results[kWords - 1];
    example::host_work(kWorkUs, turn);
  }
  CHECK(cuCtxSynchronize());
  printf("%llu\n", static_cast<unsigned long long>(sum + results[0]));
}
