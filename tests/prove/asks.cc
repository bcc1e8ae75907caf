// asks: work and its wait; then memory for a flag and, in the same stream, a kernel that polls it. The program asks whether
// that stream is done, finds that it is not, and sets the flag. So whoever waits there for all of the stream waits for ever.
// `asks thread`: another thread gives it the kernel. `asks device`: the flag is in the device's memory, and the program's second
// stream sets it, which is made behind the launch.
#include <cstdio>
#include <cstring>
#include <thread>

#include "gpu.h"
#include "kernels_ptx.h"

int main(int count, char** arguments) {
  constexpr size_t kWords = 4096;
  constexpr uint64_t kWorkUs = 500;
  const bool by_thread = count > 1 && strcmp(arguments[1], "thread") == 0;
  const bool on_device = count > 1 && strcmp(arguments[1], "device") == 0;
  example::Gpu gpu;
  CUmodule module = nullptr;
  CUfunction spin_until = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&spin_until, module, "spin_until"));
  CUdeviceptr device = 0;
  CUdeviceptr device_flag = 0;
  CUstream stream = nullptr, second = nullptr;
  CUcontext context = nullptr;
  void* memory = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&device, kWords * sizeof(uint32_t)));
  CHECK(cuMemAlloc(&device_flag, sizeof(uint64_t)));
  volatile uint64_t* flag = nullptr;
  const auto make_flag = [&] {
    if (on_device) return;
    CHECK(cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    flag = static_cast<volatile uint64_t*>(memory);
  };
  // Behind what this stream was given, or at once.
  const auto set_flag = [&](uint32_t value, CUstream in) {
    if (on_device)
      CHECK(cuMemsetD32Async(device_flag, value, 2, in));
    else
      *flag = value;
  };
  const auto drop_flag = [&] {
    if (!on_device) CHECK(cuMemFreeHost(memory));
  };
  const auto poll = [&] {
    auto address = on_device ? device_flag : reinterpret_cast<CUdeviceptr>(memory);
    void* parameters[] = {&address};
    CHECK(cuLaunchKernel(spin_until, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  };
  make_flag();
  set_flag(1, stream);
  poll();  // a driver may load a kernel at its first launch, and wait for that
  CHECK(cuStreamSynchronize(stream));
  drop_flag();
  int not_done = 0;
  for (uint32_t round = 0; round < 5; ++round) {
    gpu.fill(device, round, kWords, kWorkUs, stream);
    CHECK(cuStreamSynchronize(stream));
    make_flag();
    set_flag(0, stream);
    if (by_thread)
      std::thread([&] {
        CHECK(cuCtxSetCurrent(context));
        poll();
      }).join();
    else
      poll();
    not_done += cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
    if (on_device && !second) CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    set_flag(1, second);
    CHECK(cuStreamSynchronize(stream));
    drop_flag();
  }
  printf("%d of 5 times not done\n", not_done);
}
