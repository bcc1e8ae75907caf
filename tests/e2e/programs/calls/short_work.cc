// short_work: 60,000 kernels of 2 us from one line, and ten of 300 us, between them, from another.
#include "cuda_user.h"

int main() {
  CudaUser user;
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes));
  for (int i = 0; i < 60'000; ++i) {
    user.fill(memory, 32, 2'000);
    if (i % 6'000 == 5'999) user.fill(memory, 32, 300'000);
    if (i % 1'000 == 999) CHECK(cuCtxSynchronize());
  }
  say("done\n");
  return 0;
}
