// turns: a thread waits for a kernel that polls memory until somebody lets it go. `turns thread`: the first thread does, by work
// in another stream, once the wait has begun; where the wait returns at once, when it has. `turns signal`: a handler does, which
// writes what the kernel polls. As they are, both end at once. Corrected, the work would begin behind the wait, and the handler's
// write would wait for the kernel. Both let go after 300 ms, by the clock: the kernel takes as long in each run, however busy the
// machine. Behind the wait, who waited computes for 250 ms, so removing it gains something.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "gpu.h"
#include "kernels_ptx.h"

namespace {

constexpr size_t kWords = 64 << 10;
constexpr uint64_t kShortUs = 100;
constexpr std::chrono::milliseconds kPolled{300};
constexpr std::chrono::milliseconds kComputed{250};
constexpr useconds_t kLookUs = 100;

struct Polling {
  CUdeviceptr data = 0;
  CUstream stream = nullptr;
  CUfunction spin = nullptr;

  Polling(example::Gpu& gpu) {
    CUmodule module = nullptr;
    CHECK(cuModuleLoadData(&module, diogenes_kernels_ptx));
    CHECK(cuModuleGetFunction(&spin, module, "spin_until"));
    CHECK(cuMemAlloc(&data, kWords * sizeof(uint32_t)));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gpu.fill(data, 1, kWords, kShortUs, stream);
  }
  // Until `flag` is 1.
  void give(CUdeviceptr flag) {
    void* parameters[] = {&flag};
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  }
  void print() const {
    uint32_t word = 0;
    CHECK(cuMemcpyDtoHAsync(&word, data, sizeof word, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", word);
  }
};

enum class Wait { none, begun, over };

void compute() {
  const auto until = std::chrono::steady_clock::now() + kComputed;
  while (std::chrono::steady_clock::now() < until) {
  }
}

void let_go_by_work(example::Gpu& gpu) {
  Polling polling(gpu);
  CUcontext context = nullptr;
  CUdeviceptr flag = 0;
  CUstream other = nullptr;
  CHECK(cuCtxGetCurrent(&context));
  CHECK(cuMemAlloc(&flag, sizeof(uint32_t)));
  CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemsetD32(flag, 0, 1));
  std::atomic<Wait> wait{Wait::none};
  std::thread waiting([&] {
    CHECK(cuCtxSetCurrent(context));
    polling.give(flag);
    wait = Wait::begun;
    CHECK(cuStreamSynchronize(polling.stream));
    wait = Wait::over;
    compute();
  });
  while (wait == Wait::none) usleep(kLookUs);
  const auto until = std::chrono::steady_clock::now() + kPolled;
  while (wait != Wait::over && std::chrono::steady_clock::now() < until) usleep(kLookUs);
  CHECK(cuMemsetD32Async(flag, 1, 1, other));
  waiting.join();
  polling.print();
}

volatile uint32_t* polled;

void let_go_by_signal(example::Gpu& gpu) {
  Polling polling(gpu);
  void* memory = nullptr;
  CUdeviceptr flag = 0;
  CHECK(cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  CHECK(cuMemHostGetDevicePointer(&flag, memory, 0));
  polled = static_cast<volatile uint32_t*>(memory);
  *polled = 0;
  signal(SIGALRM, [](int) { *polled = 1; });
  polling.give(flag);
  const itimerval once{{0, 0}, {0, std::chrono::microseconds(kPolled).count()}};
  setitimer(ITIMER_REAL, &once, nullptr);
  CHECK(cuStreamSynchronize(polling.stream));
  compute();
  polling.print();
}

}  // namespace

int main(int count, char** arguments) {
  example::Gpu gpu;
  if (count == 2 && strcmp(arguments[1], "thread") == 0)
    let_go_by_work(gpu);
  else if (count == 2 && strcmp(arguments[1], "signal") == 0)
    let_go_by_signal(gpu);
  else
    return fprintf(stderr, "usage: turns thread|signal\n"), 2;
}
