// stacks: results on stacks that nobody runs on just now, deep in those of other threads, and code of the
// program's on stacks that are as small as they may be.
#include <alloca.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>

#include "cuda_user.h"

namespace {

constexpr size_t kStack = 256 * 1024;
CudaUser* user;
ucontext_t outside, inside;
uint32_t* lent;  // a part of the stack that sleeps

void* pages(size_t bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void coroutine() {
  uint32_t local[kWords];
  for (uint32_t round = 0; round < 5; ++round) {
    lent = local;
    swapcontext(&inside, &outside);
    say("coroutine: %lu\n", static_cast<unsigned long>(sum(local)));
    user->compute(local, 100 + round);
    say("its own: %lu\n", static_cast<unsigned long>(sum(local)));
  }
  lent = nullptr;
}

void run_coroutine(void* stack) {
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = kStack;
  inside.uc_link = &outside;
  makecontext(&inside, coroutine, 0);
  swapcontext(&outside, &inside);
  for (uint32_t round = 0; lent; ++round) {
    user->compute(lent, round);
    swapcontext(&outside, &inside);
  }
}

// The driver is entered with nothing above it on the stack.
void enter_at_top() {
  auto* stack = static_cast<char*>(pages(kStack + 4096));
  munmap(stack + kStack, 4096);
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = kStack;
  inside.uc_link = &outside;
  makecontext(&inside, reinterpret_cast<void (*)()>(cuCtxSynchronize), 0);
  swapcontext(&outside, &inside);
  say("entered at the top\n");
}

sem_t given, taken;

__attribute__((noinline)) uint64_t descend(int levels) {
  volatile char frame[16 * 1024];
  frame[0] = static_cast<char>(levels);
  if (levels > 0) return descend(levels - 1) + static_cast<uint64_t>(frame[0]);
  uint32_t local[kWords];
  for (int round = 0; round < 5; ++round) {
    lent = local;
    sem_post(&given);
    sem_wait(&taken);
    say("deep: %lu\n", static_cast<unsigned long>(sum(local)));
  }
  return 0;
}

void deep_stack() {
  sem_init(&given, 0, 0);
  sem_init(&taken, 0, 0);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        say("%lu\n", static_cast<unsigned long>(descend(100)));
        return nullptr;
      },
      nullptr);
  for (uint32_t round = 0; round < 5; ++round) {
    sem_wait(&given);
    user->compute(lent, 40 + round);
    sem_post(&taken);
  }
  pthread_join(thread, nullptr);
}

// Memory below a small stack that nobody may write.
bool untouched(const char* memory, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (memory[i] != 'u') return false;
  return true;
}

volatile int handled, off_stack;
char *alternate, *alternate_end;

void handler(int) {
  const char here = 0;
  handled = handled + 1;
  if (&here < alternate || &here >= alternate_end) off_stack = off_stack + 1;
}

void small_alternate_stack() {
  constexpr size_t kBelow = 16 * 1024;
  // As small as 4 KiB, where the machine's registers leave room for a handler.
  const size_t least = getauxval(AT_MINSIGSTKSZ) + 1024;
  const size_t bytes = least > 4096 ? least : 4096;
  auto* memory = static_cast<char*>(pages(kBelow + bytes));
  memset(memory, 'u', kBelow + bytes);
  alternate = memory + kBelow, alternate_end = alternate + bytes;
  stack_t stack = {}, before = {};
  stack.ss_sp = alternate;
  stack.ss_size = bytes;
  say("alternate stack: %d\n", sigaltstack(&stack, &before));
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  uint32_t* pinned = CudaUser::pinned();
  for (uint32_t round = 0; round < 5; ++round) {
    user->compute_pinned(pinned, round);
    raise(SIGUSR1);
    say("sum %lu, write %zd\n", static_cast<unsigned long>(sum(pinned)), write(1, "\n", 1));
    user->compute_pinned(pinned, 0x0a414141);
    say("write %zd\n", write(1, pinned, 8));
    uint32_t small = 0;  // by watchpoints
    CUdeviceptr device = 0;
    CHECK(cuMemAlloc(&device, 64));
    CHECK(cuMemsetD32(device, round, 16));
    CHECK(cuMemcpyDtoH(&small, device, 4));
    say("small %u\n", *static_cast<volatile uint32_t*>(&small));
    CHECK(cuMemFree(device));
  }
  sigaltstack(nullptr, &stack);
  say("handled %d, not on their stack %d, below untouched %d, stack is the program's %d\n", handled,
      off_stack, untouched(memory, kBelow), stack.ss_sp == alternate && stack.ss_size == bytes);
  sigaltstack(&before, nullptr);
}

bool on_simulated_driver() {
  char name[64] = {};
  CHECK(cuDeviceGetName(name, sizeof name, 0));
  return strstr(name, "Simulated") != nullptr;
}

void small_thread() {
  static const bool simulated = on_simulated_driver();
  constexpr size_t kBelow = 32 * 1024;
  const size_t bytes = static_cast<size_t>(PTHREAD_STACK_MIN);
  auto* memory = static_cast<char*>(pages(kBelow + bytes));
  memset(memory, 'u', kBelow);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, memory + kBelow, bytes) != 0) say("no small stack\n");
  pthread_t thread;
  pthread_create(
      &thread, &attributes,
      [](void*) -> void* {
        // Real ones take 13 KiB themselves, and leave the agent 2 of what the C library gives on their machine.
        volatile char* for_a_real_driver = static_cast<volatile char*>(alloca(simulated ? 3 * 1024 : 1));
        for_a_real_driver[0] = 1;
        user->use_on_this_thread();
        uint32_t* pinned = CudaUser::pinned();
        CUdeviceptr device = 0;
        CHECK(cuMemAlloc(&device, kBytes));
        for (uint32_t round = 0; round < 5; ++round) {
          CHECK(cuMemsetD32(device, round, kWords));
          CHECK(cuMemcpyDtoHAsync(pinned, device, kBytes, nullptr));
          CHECK(cuStreamSynchronize(nullptr));
          if (sum(pinned) != uint64_t{round} * kWords) _exit(93);
          CHECK(cuMemcpyHtoD(device, pinned, kBytes));
          if (write(1, "small thread\n", 13) != 13) _exit(92);
        }
        CHECK(cuMemFree(device));
        if (for_a_real_driver[0] != 1) _exit(94);
        return nullptr;
      },
      nullptr);
  pthread_join(thread, nullptr);
  say("below a small stack untouched: %d\n", untouched(memory, kBelow));
}

}  // namespace

int main() {
  CudaUser one;
  user = &one;
  run_coroutine(malloc(kStack));
  run_coroutine(pages(kStack));
  enter_at_top();
  deep_stack();
  small_alternate_stack();
  small_thread();
  return 0;
}
