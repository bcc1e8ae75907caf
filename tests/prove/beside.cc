// beside: a thread waits for work, tells another one, gives the stream more and asks an event whether it is reached. Meanwhile the
// other thread gives a second stream its first work, which reads what the first had waited for. `beside exit`: in place of
// asking, the program ends, and a handler of exit() joins the other thread.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "gpu.h"

namespace {

constexpr size_t kWords = 64 << 10;
constexpr uint64_t kLongUs = 30000, kShortUs = 100;
constexpr useconds_t kUntilItAsks = 3000;

example::Gpu* gpu;
CUcontext context;
CUdeviceptr data, copied;
std::atomic<bool> is_done{false};
std::thread* reader;

void read_it() {
  CHECK(cuCtxSetCurrent(context));
  while (!is_done) usleep(100);
  usleep(kUntilItAsks);
  CUstream second = nullptr;
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  gpu->copy(copied, data, kWords, kShortUs, second);
  CHECK(cuStreamSynchronize(second));
}

void print_what_was_read() {
  reader->join();
  uint32_t word = 0;
  CHECK(cuMemcpyDtoH(&word, copied, sizeof word));
  printf("%u\n", word);
}

}  // namespace

int main(int count, char** arguments) {
  const bool exits = count > 1 && strcmp(arguments[1], "exit") == 0;
  // Before the driver is there, so it runs behind the handlers of whoever comes with it.
  if (exits) atexit(print_what_was_read);
  gpu = new example::Gpu;  // never deleted
  CUdeviceptr other = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuMemAlloc(&data, kWords * sizeof(uint32_t)));
  CHECK(cuMemAlloc(&other, kWords * sizeof(uint32_t)));
  CHECK(cuMemAlloc(&copied, kWords * sizeof(uint32_t)));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  gpu->fill(data, 1, kWords, kShortUs, stream);
  CHECK(cuStreamSynchronize(stream));
  reader = new std::thread(read_it);
  CHECK(cuEventRecord(event, stream));
  gpu->fill(data, 2, kWords, kLongUs, stream);
  CHECK(cuStreamSynchronize(stream));
  is_done = true;
  if (exits) return 0;
  gpu->fill(other, 3, kWords, kShortUs, stream);
  printf("%d\n", cuEventQuery(event) == CUDA_SUCCESS);
  print_what_was_read();
}
