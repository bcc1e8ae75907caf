// short_work: 60,000 kernels of 2 us from one line, and ten of 300 us, between them, from another. And a capture of 3,000 kernels, which
// nobody launches, around the 6,000th call, from which on a profile takes GPU times of a part.
#include "cuda_user.h"

namespace {

void capture(CudaUser& user, CUdeviceptr memory) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 3'000; ++i) user.fill(memory, 32, 2'000, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphDestroy(graph));
}

}  // namespace

int main() {
  CudaUser user;
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, kBytes));
  for (int i = 0; i < 60'000; ++i) {
    if (i == 4'500) capture(user, memory);
    user.fill(memory, 32, 2'000);
    if (i % 6'000 == 5'999) user.fill(memory, 32, 300'000);
    if (i % 1'000 == 999) CHECK(cuCtxSynchronize());
  }
  say("done\n");
  return 0;
}
