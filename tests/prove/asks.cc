// asks: work and its wait; then memory for a flag and, in the same stream, a kernel that polls it. The program asks whether
// that stream is done, finds that it is not, and sets the flag. So whoever waits there for all of the stream waits for ever.
// `asks thread`: another thread gives it the kernel.
#include <cstdio>
#include <cstring>
#include <thread>

#include "gpu.h"
#include "kernels_ptx.h"

int main(int count, char** arguments) {
  constexpr size_t kWords = 4096;
  constexpr uint64_t kWorkUs = 500;
  const bool by_thread = count > 1 && strcmp(arguments[1], "thread") == 0;
  example::Gpu gpu;
  CUmodule module = nullptr;
  CUfunction spin_until = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&spin_until, module, "spin_until"));
  CUdeviceptr device = 0;
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  void* memory = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&device, kWords * sizeof(uint32_t)));
  volatile uint64_t* flag = nullptr;
  const auto make_flag = [&] {
    CHECK(cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    flag = static_cast<volatile uint64_t*>(memory);
  };
  const auto poll = [&] {
    auto address = reinterpret_cast<CUdeviceptr>(memory);
    void* parameters[] = {&address};
    CHECK(cuLaunchKernel(spin_until, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  };
  make_flag();
  *flag = 1;
  poll();  // a driver may load a kernel at its first launch, and wait for that
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemFreeHost(memory));
  int not_done = 0;
  for (uint32_t round = 0; round < 5; ++round) {
    gpu.fill(device, round, kWords, kWorkUs, stream);
    CHECK(cuStreamSynchronize(stream));
    make_flag();
    *flag = 0;
    if (by_thread)
      std::thread([&] {
        CHECK(cuCtxSetCurrent(context));
        poll();
      }).join();
    else
      poll();
    not_done += cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
    *flag = 1;
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemFreeHost(memory));
  }
  printf("%d of 5 times not done\n", not_done);
}
