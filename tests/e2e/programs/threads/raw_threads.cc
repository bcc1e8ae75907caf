// raw_threads: threads that no pthread_create made, as language runtimes with a scheduler of their own have
// them: by clone, with no thread-local storage of libc's, switched between stacks, preempted by signals. They
// read what the GPU wrote, and make system calls with it.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>

#include "cuda_user.h"

static std::atomic<uint32_t> turn{0}, done{0};
static std::atomic<uint64_t> sums{0};
static uint32_t* result;
static int pipe_ends[2];

// No libc in here: it would look for its thread's storage.
static long call(long number, long a, long b, long c) {
  long value;
  asm volatile("syscall" : "=a"(value) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return value;
}

static int run(void*) {
  for (uint32_t round = 1; round <= 10; ++round) {
    while (turn.load() != round) call(SYS_sched_yield, 0, 0, 0);
    uint64_t mine = 0;
    for (size_t i = 0; i < kWords; ++i) mine += static_cast<volatile uint32_t*>(result)[i];
    sums += mine;
    sums += static_cast<uint64_t>(call(SYS_write, pipe_ends[1], reinterpret_cast<long>(result), 64));
    ++done;
  }
  call(SYS_exit, 0, 0, 0);
  return 0;
}

int main() {
  CudaUser user;
  result = CudaUser::pinned();
  CHECK(pipe(pipe_ends) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
  user.compute_pinned(result, 1);
  user.compute_pinned(result, 2);  // guarded when the threads come
  constexpr int kThreads = 2;
  for (int t = 0; t < kThreads; ++t) {
    auto* stack =
        static_cast<char*>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    CHECK(clone(run, stack + 65536, flags, nullptr) > 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
  }
  for (uint32_t round = 1; round <= 10; ++round) {
    user.compute_pinned(result, round);
    done = 0;
    turn = round;
    while (done.load() != kThreads) usleep(100);
  }
  say("sums %lu\n", static_cast<unsigned long>(sums.load()));
  return 0;
}
