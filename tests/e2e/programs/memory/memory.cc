// memory: what a program may do with memory that the GPU wrote and that nobody has read yet.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cstring>

#include "cuda_user.h"

static void* pages() {
  return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void tell(const char* what, const void* data) {
  say("%s: %lu\n", what, static_cast<unsigned long>(sum(data)));
}

static void system_calls(CudaUser& user) {
  uint32_t* pinned = CudaUser::pinned();
  auto* heap = static_cast<char*>(malloc(kBytes));
  user.compute_pinned(pinned, 0x0a414141);  // "AAA\n"
  say("write %zd\n", write(1, pinned, 8));
  user.compute(heap, 0x0a424242);
  const iovec parts[2] = {{heap, 4}, {heap + 8192, 4}};
  say("writev %zd\n", writev(1, parts, 2));
  user.compute_pinned(pinned, 5);
  const int zero = open("/dev/zero", O_RDONLY);
  say("read %zd\n", read(zero, pinned, kBytes));
  tell("after read", pinned);
  user.compute(heap, 0x00747365);  // "est"
  say("open %d\n", open(heap + 16, O_RDONLY));
  const int file = memfd_create("results", 0);
  user.compute(heap, 3);
  say("pwrite %zd\n", pwrite(file, heap, kBytes, 0));
  user.compute(heap, 4);
  say("pread %zd\n", pread(file, heap, kBytes, 0));
  tell("after pread", heap);
  free(heap);
}

static void mappings(CudaUser& user) {
  void* memory = pages();
  user.compute(memory, 7);
  void* moved = mremap(memory, kBytes, 4 * kBytes, MREMAP_MAYMOVE);
  tell("mremap", moved);
  user.compute(moved, 8);
  munmap(moved, 4 * kBytes);
  void* again = mmap(moved, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  tell("munmap, mmap again", again);
  user.compute(again, 9);
  madvise(again, kBytes, MADV_DONTNEED);
  tell("madvise", again);
  user.compute(again, 10);
  mprotect(again, kBytes, PROT_READ);
  tell("mprotect", again);
  mprotect(again, kBytes, PROT_READ | PROT_WRITE);
  user.compute(again, 11);
  mmap(again, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  tell("mmap over it", again);
}

static void heap(CudaUser& user) {
  void* memory = malloc(kBytes);
  user.compute(memory, 12);
  memory = realloc(memory, 64 * kBytes);
  tell("realloc", memory);
  user.compute(memory, 13);
  free(memory);
  for (int i = 0; i < 100; ++i) {
    void* block = malloc(kBytes);
    if (i % 2 == 0) user.compute(block, static_cast<uint32_t>(i));
    memset(block, 1, 100);
    free(block);
  }
  auto* odd = static_cast<char*>(malloc(kBytes + 8192)) + 100;  // its ends share their pages with others
  user.compute(odd, 14);
  odd[-1] = 1;
  odd[kBytes] = 1;
  tell("odd", odd);
  uint32_t local[kWords];
  user.compute(local, 15);
  tell("stack", local);
  static uint32_t global[kWords];
  user.compute(global, 16);
  tell("global", global);
}

static void managed(CudaUser& user) {
  CUdeviceptr memory = 0;
  CHECK(cuMemAllocManaged(&memory, kBytes, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemsetD32(memory, 17, kWords));
  CHECK(cuCtxSynchronize());
  tell("managed", reinterpret_cast<void*>(memory));
  CHECK(cuMemFree(memory));
  void* registered = pages();
  CHECK(cuMemHostRegister(registered, kBytes, 0));
  user.compute_pinned(static_cast<uint32_t*>(registered), 18);
  CHECK(cuMemHostUnregister(registered));
  tell("registered", registered);
}

int main() {
  CudaUser user;
  system_calls(user);
  mappings(user);
  heap(user);
  managed(user);
  return 0;
}
