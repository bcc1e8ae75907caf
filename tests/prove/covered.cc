// covered: a copy to the host, and one of few bytes onto the stack, whose wait covers the first's; then both results are read. So
// the first wait is needless, and the second is needed and cannot be deferred.
#include <cstdio>
#include <cstdlib>

#include "gpu.h"

int main() {
  constexpr size_t kWords = 64 << 10;
  constexpr int kWorkUs = 2000;
  example::Gpu gpu;
  CUdeviceptr device = 0;
  CHECK(cuMemAlloc(&device, kWords * sizeof(uint32_t)));
  auto* results = static_cast<uint32_t*>(aligned_alloc(4096, kWords * sizeof(uint32_t)));
  uint64_t sum = 0;
  for (uint32_t turn = 0; turn < 20; ++turn) {
    gpu.fill(device, turn, kWords, kWorkUs);
    CHECK(cuMemcpyDtoH(results, device, kWords * sizeof(uint32_t)));
    example::host_work(kWorkUs, turn);
    uint32_t first = 0;
    CHECK(cuMemcpyDtoH(&first, device, sizeof first));
    sum += results[kWords - 1] + first;
  }
  printf("%llu\n", static_cast<unsigned long long>(sum));
}
