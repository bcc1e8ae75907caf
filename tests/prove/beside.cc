// beside: a thread waits for work, tells another one, gives the stream more and asks an event whether it is reached. Meanwhile the
// other thread gives a second stream its first work, which reads what the first had waited for.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "gpu.h"

int main() {
  constexpr size_t kWords = 64 << 10;
  constexpr uint64_t kLongUs = 30000, kShortUs = 100;
  constexpr useconds_t kUntilItAsks = 3000;
  example::Gpu gpu;
  CUcontext context = nullptr;
  CUdeviceptr data = 0, other = 0, copied = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuMemAlloc(&data, kWords * sizeof(uint32_t)));
  CHECK(cuMemAlloc(&other, kWords * sizeof(uint32_t)));
  CHECK(cuMemAlloc(&copied, kWords * sizeof(uint32_t)));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  gpu.fill(data, 1, kWords, kShortUs, stream);
  CHECK(cuStreamSynchronize(stream));

  std::atomic<bool> is_done{false};
  std::thread reader([&] {
    CHECK(cuCtxSetCurrent(context));
    while (!is_done) usleep(100);
    usleep(kUntilItAsks);
    CUstream second = nullptr;
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    gpu.copy(copied, data, kWords, kShortUs, second);
    CHECK(cuStreamSynchronize(second));
  });
  CHECK(cuEventRecord(event, stream));
  gpu.fill(data, 2, kWords, kLongUs, stream);
  CHECK(cuStreamSynchronize(stream));
  is_done = true;
  gpu.fill(other, 3, kWords, kShortUs, stream);
  const bool is_reached = cuEventQuery(event) == CUDA_SUCCESS;
  reader.join();
  uint32_t word = 0;
  CHECK(cuMemcpyDtoH(&word, copied, sizeof word));
  printf("%d, %u\n", is_reached, word);
}
