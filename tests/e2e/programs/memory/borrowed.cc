// Results where libc, the kernel or nobody expects them: on the stack of a thread that ends, and whose stack the next one gets; at
// the end of thread-local storage, beside the control block; in a filter that the kernel reads through a pointer; and calls from a
// stack of the program's own, above which lies no return address.
#include <linux/filter.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "cuda_user.h"

namespace {

CudaUser* user;
CUdeviceptr device;

// No other call comes between the copy and who uses it.
void download(void* to, uint32_t value) {
  CHECK(cuMemsetD32(device, value, kWords));
  CHECK(cuMemcpyDtoH(to, device, kBytes));
}

uint64_t on_another_stack(uint32_t value) {
  std::atomic<uint32_t*> place{nullptr};
  std::atomic<bool> filled{false};
  uint64_t seen = 0;
  std::thread owner([&] {
    uint32_t result[kWords];
    place = result;
    while (!filled) sched_yield();
    seen = sum(result);
  });
  while (!place) sched_yield();
  download(place, value);
  filled = true;
  owner.join();
  CHECK(cuCtxSynchronize());
  return seen;
}

thread_local uint32_t variables[4 * kWords];
uint64_t in_thread_local_storage(uint32_t value) {
  uint32_t* last = variables + 3 * kWords;
  download(last, value);
  CHECK(cuCtxSynchronize());
  return sum(last);
}

// The kernel takes or refuses it: as without guards.
uint64_t in_a_filter(uint32_t* result) {
  user->compute_pinned(result, BPF_RET | BPF_K);
  auto* filter = reinterpret_cast<sock_filter*>(result);
  sock_fprog program{1, filter};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) _exit(97);
  const int attached = setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  close(ends[0]);
  close(ends[1]);
  return static_cast<uint64_t>(attached == 0);
}

uint32_t* own_result;
void on_own_stack() { user->compute(own_result, 9); }

// Nothing says where this came from: the words above are no addresses.
void from_own_stack() {
  constexpr size_t kStack = 1 << 20;
  static auto* stack =
      static_cast<char*>(mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  memset(stack, 0x5a, kStack);
  asm volatile("mov %%rsp, %%rbx; mov %0, %%rsp; mov %1, %%rax; call *%%rax; mov %%rbx, %%rsp" ::"r"(
                   stack + kStack - 4096),
               "r"(&on_own_stack)
               : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

}  // namespace

int main() {
  user = new CudaUser;
  CHECK(cuMemAlloc(&device, kBytes));
  uint32_t* pinned = CudaUser::pinned();
  own_result = CudaUser::pinned();
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t stack = on_another_stack(i), local = in_thread_local_storage(i),
                   filter = in_a_filter(pinned);
    from_own_stack();
    say("%lu %lu %lu %lu\n", stack, local, filter, sum(own_result));
  }
  return 0;
}
