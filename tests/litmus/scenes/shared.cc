#include "shared.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "kernels_ptx.h"

namespace scenes {

constexpr size_t kDeviceBytes = 1 << 20, kFlagBytes = 64 * 1024;

Shared* shared;

Shared::Shared() {
  CHECK(cuCtxGetCurrent(&context));
  for (CUdeviceptr* memory : {&device, &other, &result}) CHECK(cuMemAlloc(memory, kDeviceBytes));
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&spin_until, module, "spin_until"));
  CHECK(cuModuleGetFunction(&copy_as_told, module, "copy_as_told"));
  CHECK(cuModuleGetFunction(&fill, module, "fill"));
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, kBytes));
  back = static_cast<uint32_t*>(memory);
  CHECK(cuMemHostAlloc(&memory, kFlagBytes, CU_MEMHOSTALLOC_DEVICEMAP));
  memset(memory, 0, kFlagBytes);
  flag = static_cast<volatile uint64_t*>(memory);
  // Each kernel runs once before any polls: a driver may load a kernel at its first launch, and wait for
  // that.
  *flag = 1;
  spin(first);
  gpu.fill(device, 5, kWords, 1, first);
  gpu.copy(result, device, kWords, 1, first);
  uint64_t table[2] = {result, device};
  CHECK(cuMemcpyHtoD(other, table, sizeof table));
  copy_by_table(other, kWords, first);
  uint64_t words = kWords, ns = 0;
  uint32_t value = 0;
  void* parameters[] = {&result, &value, &words, &ns};
  CHECK(cuLaunchKernel(fill, 32, 1, 1, 256, 1, 1, 0, first, parameters, nullptr));
  CHECK(cuCtxSynchronize());
}

void Shared::spin(CUstream stream) const {
  CUdeviceptr polled = flag_address();
  void* parameters[] = {&polled};
  CHECK(cuLaunchKernel(spin_until, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
}

void Shared::copy_by_table(CUdeviceptr table, size_t count, CUstream stream) const {
  uint64_t words = count, ns = 10'000;
  void* parameters[] = {&table, &words, &ns};
  CHECK(cuLaunchKernel(copy_as_told, 32, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
}

bool has_concurrent_managed() {
  int value = 0;
  CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0));
  return value != 0;
}

[[gnu::noinline]] void begin() {
  Shared& s = *shared;
  s.gpu.fill(s.device, 5, kWords, 1);
  s.gpu.fill(s.other, 4, kWords, 1);
  s.gpu.fill(s.result, 3, kWords, 1);
  ++s.flag;
  CHECK(cuCtxSynchronize());
}

[[gnu::noinline]] void finish() { CHECK(cuCtxSynchronize()); }

uint64_t sum(const uint32_t* data, size_t words) {
  uint64_t result = 0;
  for (size_t i = 0; i < words; ++i) result += static_cast<const volatile uint32_t*>(data)[i];
  return result;
}

uint64_t device_sum(CUdeviceptr data, size_t words) {
  CHECK(cuMemcpyDtoH(shared->back, data, words * 4));
  return sum(shared->back, words);
}

void set(uint32_t* data, size_t words, uint32_t value) {
  for (size_t i = 0; i < words; ++i) static_cast<volatile uint32_t*>(data)[i] = value;
}

void tell_gone(const void* data, size_t bytes) {
  using Gone = void(const void*, size_t);
  static auto* gone = reinterpret_cast<Gone*>(dlsym(RTLD_DEFAULT, "diogenes_simulated_gone"));
  if (gone) gone(data, bytes);
}

Pinned::Pinned(unsigned flags) {
  void* memory = nullptr;
  CHECK(cuMemHostAlloc(&memory, kBytes, flags));
  words = static_cast<uint32_t*>(memory);
  set(words, kWords, 7);
}
Pinned::~Pinned() {
  if (words) CHECK(cuMemFreeHost(words));
}

Managed::Managed() {
  CUdeviceptr memory = 0;
  CHECK(cuMemAllocManaged(&memory, kBytes, CU_MEM_ATTACH_GLOBAL));
  words = reinterpret_cast<uint32_t*>(memory);
  set(words, kWords, 7);
}
Managed::~Managed() { CHECK(cuMemFree(address(words))); }

Mapped::Mapped(size_t size, int flags, void* at) : bytes(size) {
  void* memory = mmap(at, size, PROT_READ | PROT_WRITE, (flags ? flags : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  words = static_cast<uint32_t*>(memory);
  set(words, size / 4, 7);
}
Mapped::~Mapped() {
  end_registration();
  tell_gone(words, bytes);
  munmap(words, bytes);
}
void Mapped::add_registration(unsigned flags) {
  CHECK(cuMemHostRegister(words, bytes, flags));
  registered = true;
}
void Mapped::end_registration() {
  if (registered) CHECK(cuMemHostUnregister(words));
  registered = false;
}

void download(uint32_t* to, uint32_t value, CUstream stream) {
  Shared& s = *shared;
  s.gpu.fill(s.device, value, kWords, kBusyUs, stream);
  CHECK(cuMemcpyDtoHAsync(to, s.device, kBytes, stream));
}

}  // namespace scenes
