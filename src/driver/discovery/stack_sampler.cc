#include "driver/discovery/stack_sampler.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unwind.h>

#include <atomic>

namespace diogenes {
namespace {

constexpr int kMaximumFrames = 128;

struct Sample {
  std::atomic<bool> wanted{false};
  int count = 0;
  uintptr_t frames[kMaximumFrames];
  sem_t taken;
} the_sample;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void*) {
  int exact = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &exact);
  if (address == 0 || the_sample.count == kMaximumFrames) return _URC_END_OF_STACK;
  the_sample.frames[the_sample.count++] = exact != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

void take_sample(int) {
  const int saved = errno;
  // Wanted once: a signal that arrives late, after the sampler gave up, takes nothing.
  if (the_sample.wanted.exchange(false, std::memory_order_acquire)) {
    the_sample.count = 0;
    _Unwind_Backtrace(add_frame, nullptr);
    sem_post(&the_sample.taken);
  }
  errno = saved;
}

int sample_signal() { return SIGRTMIN + 5; }

}  // namespace

Status StackSampler::prepare() {
  sem_init(&the_sample.taken, 0, 0);
  struct sigaction action {};
  action.sa_handler = take_sample;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(sample_signal(), &action, nullptr) != 0)
    return error("no signal handler for sampling: %s", strerror(errno));
  sample(pthread_self(), {100'000'000});  // libgcc finds its tables at the first use
  return Done{};
}

std::vector<uintptr_t> StackSampler::sample(pthread_t thread, Nanoseconds patience) {
  the_sample.wanted.store(true, std::memory_order_release);
  if (pthread_kill(thread, sample_signal()) != 0) {
    the_sample.wanted.store(false, std::memory_order_relaxed);
    return {};
  }
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  const int64_t nanoseconds = until.tv_nsec + patience.count;
  until.tv_sec += nanoseconds / 1'000'000'000;
  until.tv_nsec = nanoseconds % 1'000'000'000;
  int result;
  while ((result = sem_timedwait(&the_sample.taken, &until)) != 0 && errno == EINTR) {
  }
  if (result != 0) {
    if (the_sample.wanted.exchange(false, std::memory_order_relaxed)) return {};
    while (sem_wait(&the_sample.taken) != 0 && errno == EINTR) {  // the handler has begun: it ends soon
    }
  }
  return {the_sample.frames, the_sample.frames + the_sample.count};
}

}  // namespace diogenes
