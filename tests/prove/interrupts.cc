// interrupts: a signal's handler copies what an earlier wait was for, while the thread is in a call that does not wait. Where
// that wait is deferred, the call waits in its place, and the handler interrupts it there. `interrupts driver`: the call waits in
// the driver, which may hang where a handler interrupts that; and a handler gives the GPU work and does not wait for it.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "gpu.h"

namespace {

constexpr size_t kWords = 64 << 10;
// The handler comes within that time, and when the thread has surely come to wait, however busy the machine is: it must not
// interrupt the driver where that holds a lock.
constexpr uint64_t kLongUs = 500'000;
constexpr suseconds_t kThenUs = 250'000;

enum class Call { query, launch, allocate, copy };
enum class In { other_stream, new_stream, same_stream };

struct Copying {
  example::Gpu* gpu = nullptr;
  CUstream stream = nullptr, other = nullptr;
  CUdeviceptr result = 0, copy = 0, nobodys = 0;
  uint32_t* host = nullptr;
  In in = In::other_stream;
  volatile sig_atomic_t seen = 0;
};
Copying copying;

void copy_result(int) {
  Copying& all = copying;
  CUstream stream = all.in == In::same_stream ? all.stream : all.other;
  if (all.in == In::new_stream) CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  all.gpu->copy(all.copy, all.result, kWords, 10, stream);
  CHECK(cuMemcpyDtoHAsync(all.host, all.copy, sizeof *all.host, stream));
  CHECK(cuStreamSynchronize(stream));
  all.seen = static_cast<sig_atomic_t>(*all.host);
  if (all.in == In::new_stream) CHECK(cuStreamDestroy(stream));
}

void give_work(int) {
  Copying& all = copying;
  all.gpu->fill(all.copy, 1000, kWords, kLongUs, all.other);
  CHECK(cuMemcpyDtoHAsync(all.host, all.copy, sizeof *all.host, all.other));
  all.seen = 1;
}

void set_timer(void (*handler)(int)) {
  copying.seen = 0;
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer = {};
  timer.it_value.tv_usec = kThenUs;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void make(Call call) {
  void* memory = nullptr;
  uint32_t word = 0;
  switch (call) {
    case Call::query:
      (void)cuStreamQuery(copying.stream);
      break;
    case Call::launch:
      copying.gpu->fill(copying.nobodys, 0, kWords, 10, copying.stream);
      (void)cuStreamQuery(copying.stream);
      break;
    case Call::allocate:
      CHECK(cuMemAllocHost(&memory, 4096));
      CHECK(cuMemFreeHost(memory));
      break;
    case Call::copy:
      CHECK(cuMemcpyDtoH(&word, copying.nobodys, sizeof word));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool in_driver = count > 1 && strcmp(arguments[1], "driver") == 0;
  example::Gpu gpu;
  copying.gpu = &gpu;
  CHECK(cuStreamCreate(&copying.stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&copying.other, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&copying.result, kWords * sizeof(uint32_t)));
  CHECK(cuMemAlloc(&copying.copy, kWords * sizeof(uint32_t)));
  CHECK(cuMemAlloc(&copying.nobodys, kWords * sizeof(uint32_t)));
  void* host = nullptr;
  CHECK(cuMemAllocHost(&host, 4096));
  copying.host = static_cast<uint32_t*>(host);
  sig_atomic_t round = 0;
  for (const In in : {In::other_stream, In::new_stream, In::same_stream})
    for (const Call call : {Call::query, Call::launch, Call::allocate, Call::copy}) {
      if ((call == Call::copy) != in_driver) continue;
      copying.in = in;
      gpu.fill(copying.result, static_cast<uint32_t>(++round), kWords, kLongUs, copying.stream);
      CHECK(cuStreamSynchronize(copying.stream));
      set_timer(copy_result);
      make(call);
      while (copying.seen == 0) usleep(100);
      std::printf("%d\n", static_cast<int>(copying.seen));
      CHECK(cuCtxSynchronize());
    }
  for (int i = 0; in_driver && i < 3; ++i) {
    uint32_t word = 0;
    *copying.host = 0;
    gpu.fill(copying.result, 5, kWords, kLongUs, copying.stream);
    CHECK(cuMemcpyDtoHAsync(&word, copying.result, sizeof word, copying.stream));
    set_timer(give_work);
    CHECK(cuStreamSynchronize(copying.stream));
    while (copying.seen == 0) usleep(100);
    CHECK(cuStreamSynchronize(copying.other));
    std::printf("%u %u\n", word, *copying.host);
  }
  return 0;
}
