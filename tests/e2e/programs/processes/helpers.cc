// helpers: what libc starts beside the program: a shell, and threads that run a timer's function. Waits for
// results that nobody reads come before and after.
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "cuda_user.h"

static sem_t ticked;
static uint32_t* result;
static uint64_t seen;

static void tick(sigval) {
  seen = sum(result);
  sem_post(&ticked);
}

// Twenty waits that nobody needs, by one of these functions. They use memory that is gone when the timer ends guarding:
// libc's threads may read unseen what is still there, and nothing orders them behind earlier waits, so these would count
// as needed.
#define TWENTY_WAITS(name)                                                 \
  __attribute__((noinline)) static void name(CudaUser& user) {             \
    uint32_t* unread = CudaUser::pinned();                                 \
    for (uint32_t i = 0; i < 20; ++i) user.compute_pinned(unread, i);      \
    CHECK(cuMemFreeHost(unread));                                          \
    asm volatile("# " #name); /* else they are the same to the compiler */ \
  }
TWENTY_WAITS(before_all)
TWENTY_WAITS(after_shell)
TWENTY_WAITS(after_timer)

int main() {
  CudaUser user;
  result = CudaUser::pinned();
  before_all(user);
  say("system: %d\n", system("exit 0"));
  after_shell(user);
  sem_init(&ticked, 0, 0);
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = tick;
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 91;
  const itimerspec once = {{0, 0}, {0, 1000}};
  for (uint32_t i = 0; i < 5; ++i) {
    user.compute_pinned(result, i);
    timer_settime(timer, 0, &once, nullptr);
    sem_wait(&ticked);
    say("tick: %lu\n", static_cast<unsigned long>(seen));
  }
  timer_delete(timer);
  after_timer(user);
  return 0;
}
