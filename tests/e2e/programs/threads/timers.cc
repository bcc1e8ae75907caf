// timers: signals at a high rate whose handler touches memory that the GPU wrote, and system calls that they
// interrupt.
#include <signal.h>
#include <sys/time.h>

#include <atomic>

#include "cuda_user.h"

static std::atomic<uint32_t*> watched;
static std::atomic<uint64_t> read_in_handler;
static std::atomic<int> ticks;

static void on_tick(int) {
  if (uint32_t* data = watched.load()) read_in_handler += data[kWords / 2];
  ++ticks;
}

int main() {
  struct sigaction action = {};
  action.sa_handler = on_tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  CudaUser user;
  uint32_t* result = CudaUser::pinned();
  const itimerval every_ms = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every_ms, nullptr);
  uint64_t total = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    watched = nullptr;
    user.compute_pinned(result, i);
    watched = result;
    const int now = ticks;
    while (i % 10 == 0 && ticks < now + 2) usleep(100);
    total += sum(result);
  }
  say("total %lu, handler ran: %d, and read: %d\n", static_cast<unsigned long>(total), ticks > 10,
      read_in_handler > 0);
  return 0;
}
