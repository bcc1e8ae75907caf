// leaves HOW: gives the GPU work, waits for it, and goes without giving anything back, as programs of the runtime do. HOW:
// return; exit, from another thread; quick_exit; _exit; read: a handler of exit() reads the result.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "gpu.h"

namespace {

constexpr size_t kWords = 4096;
constexpr uint64_t kWorkUs = 20'000;
uint32_t* result = nullptr;

void read_result() {
  printf("%u\n", result[kWords - 1]);
  fflush(stdout);
}

}  // namespace

int main(int, char** argv) {
  const char* how = argv[1];
  auto* gpu = new example::Gpu;  // it stays
  CUdeviceptr device = 0;
  void* host = nullptr;
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&device, kWords * sizeof(uint32_t)));
  CHECK(cuMemAllocHost(&host, kWords * sizeof(uint32_t)));
  result = static_cast<uint32_t*>(host);
  memset(host, 0, kWords * sizeof(uint32_t));
  if (strcmp(how, "read") == 0) {
    atexit(read_result);
    gpu->fill(device, 7, kWords, kWorkUs, stream);
    CHECK(cuMemcpyDtoHAsync(host, device, kWords * sizeof(uint32_t), stream));
    CHECK(cuStreamSynchronize(stream));
    return 3;
  }
  gpu->fill(device, 7, kWords, kWorkUs, stream);
  CHECK(cuStreamSynchronize(stream));
  puts(how);
  fflush(stdout);
  if (strcmp(how, "exit") == 0) std::thread([] { exit(4); }).join();
  if (strcmp(how, "quick_exit") == 0) quick_exit(5);
  if (strcmp(how, "_exit") == 0) _exit(6);
  return 7;
}
