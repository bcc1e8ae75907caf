// handler: a signal comes while a call waits for what was deferred before it, and its handler reads the result by another stream.
// As the program is, the result is there by then.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "gpu.h"

namespace {

constexpr size_t kWords = 64 << 10;
constexpr uint64_t kLongUs = 30000;

CUdeviceptr data;
CUstream second;
std::atomic<int> expected{0};
volatile uint32_t seen;

void read_it(int) {
  uint32_t word = 0;
  CHECK(cuMemcpyDtoHAsync(&word, data, sizeof word, second));
  CHECK(cuStreamSynchronize(second));
  seen = word;
  expected = 0;
}

}  // namespace

int main() {
  example::Gpu gpu;
  CUstream stream = nullptr;
  CHECK(cuMemAlloc(&data, kWords * sizeof(uint32_t)));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  signal(SIGALRM, read_it);
  for (int turn = 1; turn <= 4; ++turn) {
    gpu.fill(data, static_cast<uint32_t>(turn), kWords, kLongUs, stream);
    CHECK(cuStreamSynchronize(stream));
    expected = turn;
    const itimerval soon{{0, 0}, {0, kLongUs / 2}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    CHECK(cuStreamQuery(stream));
    while (expected != 0) usleep(100);
    printf("%d %u\n", turn, seen);
  }
}
