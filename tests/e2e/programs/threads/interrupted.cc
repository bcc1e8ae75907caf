// interrupted: a signal handler makes system calls while its thread is inside the driver, on results that
// nobody has read, and beside them.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "cuda_user.h"

static std::atomic<uint64_t>* go_on;
static uint32_t *pinned, *registered;
static char* beside;
static int ends[2], zero;
static ssize_t results[8];

static void handler(int) {
  results[0] = write(ends[1], pinned, 4096);
  results[1] = write(ends[1], registered + 4096, 4096);
  results[2] = read(zero, pinned + 2048, 4096);
  results[3] = write(ends[1], beside, 8);
  results[4] = read(zero, beside, 8);
  results[5] = static_cast<ssize_t>(pinned[1]);
  go_on->store(1);
}

int main() {
  CudaUser user;
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
  CUstream stream = nullptr;
  CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
  CHECK(cuModuleGetFunction(&spin, module, "spin_until"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  void* flag = nullptr;
  CHECK(cuMemAllocHost(&flag, 8));
  go_on = new (flag) std::atomic<uint64_t>{0};
  pinned = CudaUser::pinned();
  // The result ends in the middle of a page.
  auto* block = static_cast<char*>(aligned_alloc(4096, kBytes + 4096));
  registered = reinterpret_cast<uint32_t*>(block + 2048);
  beside = block + 512;
  memset(block, 'b', 2048);
  CHECK(cuMemHostRegister(registered, kBytes, 0));
  zero = open("/dev/zero", O_RDONLY);
  if (pipe(ends) != 0) return 91;
  struct sigaction action = {};
  action.sa_handler = handler;
  sigaction(SIGUSR1, &action, nullptr);
  char sink[65536];
  for (uint32_t round = 1; round <= 5; ++round) {
    user.compute_pinned(pinned, round);
    user.compute_pinned(registered, round + 10);
    go_on->store(0);
    void* parameters[] = {&flag};
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    // The kernel ends when the handler has run: inside the wait, unless this machine is very busy.
    std::thread sender([main = pthread_self()] {
      usleep(5000);
      pthread_kill(main, SIGUSR1);
    });
    CHECK(cuStreamSynchronize(stream));
    sender.join();
    say("%zd %zd %zd %zd %zd %zd, piped %zd, %lu %lu\n", results[0], results[1], results[2], results[3],
        results[4], results[5], read(ends[0], sink, sizeof sink), static_cast<unsigned long>(sum(pinned)),
        static_cast<unsigned long>(sum(registered)));
  }
  return 0;
}
