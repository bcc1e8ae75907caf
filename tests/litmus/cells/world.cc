#include "world.h"

#include <unistd.h>

#include <thread>

#include "kernels_ptx.h"

namespace litmus {

constexpr size_t kDeviceBytes = 1 << 20;

World* world;

void Worker::start(CUcontext context) {
  std::thread([this, context] {
    if (context) CHECK(cuCtxSetCurrent(context));
    for (;;) {
      asked_.acquire();
      work_();
      answered_.release();
    }
  }).detach();
  asked_.await_sleeper();
}

World::World() {
  CHECK(cuMemAlloc(&device, kDeviceBytes));
  CHECK(cuMemAlloc(&other, kDeviceBytes));
  CHECK(cuMemAlloc(&result, kDeviceBytes));
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&copy_as_told, module, "copy_as_told"));
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&between, CU_EVENT_DISABLE_TIMING));
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, kDeviceBytes));
  pinned = static_cast<uint32_t*>(memory);
  if (::pipe(pipe) != 0) perror("pipe");
  CUcontext context = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  reader.start(nullptr);
  helper.start(context);
}

Foreign::Foreign() {
  CUdevice gpu = 0;
  CUmodule module = nullptr;
  int devices = 0;
  CHECK(cuDeviceGetCount(&devices));
  CHECK(cuDeviceGet(&gpu, devices > 1 ? 1 : 0));
  CHECK(cuCtxCreate(&context, 0, gpu));
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&kernel, module, "fill"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&device, kDeviceBytes));
  CHECK(cuCtxPopCurrent(nullptr));
}

void Foreign::fill(CUdeviceptr destination, uint32_t value, size_t words, uint64_t busy_us) const {
  uint64_t count = words, ns = busy_us * 1000;
  void* parameters[] = {&destination, &value, &count, &ns};
  CHECK(cuLaunchKernel(kernel, 32, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
}

Foreign& foreign() {
  static Foreign made;
  return made;
}

uint64_t sum(const uint32_t* data, size_t count) {
  uint64_t result = 0;
  for (size_t i = 0; i < count; ++i) result += static_cast<const volatile uint32_t*>(data)[i];
  return result;
}

}  // namespace litmus
