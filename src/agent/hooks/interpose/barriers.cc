// Barriers: all who arrive let go on all who leave (order/order.h).
#include <errno.h>
#include <pthread.h>

#include "agent/hooks/interpose/next.h"
#include "agent/watching/order/order.h"
#include "base/units.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using namespace diogenes::agent;
using Barrier = pthread_barrier_t;

Next<int(Barrier*, const pthread_barrierattr_t*, unsigned)> next_init("pthread_barrier_init");
Next<int(Barrier*)> next_destroy("pthread_barrier_destroy");
Next<int(Barrier*)> next_wait("pthread_barrier_wait");

__attribute__((constructor)) void look_up() { next_init.get(), next_destroy.get(), next_wait.get(); }

}  // namespace

EXPORTED int pthread_barrier_init(Barrier* barrier, const pthread_barrierattr_t* attributes,
                                  unsigned threads) noexcept {
  auto* next = next_init.get();
  if (!next) return ENOSYS;
  int result = next(barrier, attributes, threads);
  if (result == 0 && follows_order(__builtin_return_address(0))) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (attributes) pthread_barrierattr_getpshared(attributes, &shared);
    note_barrier(barrier, threads, shared != PTHREAD_PROCESS_PRIVATE);
  }
  return result;
}

EXPORTED int pthread_barrier_destroy(Barrier* barrier) noexcept {
  auto* next = next_destroy.get();
  if (!next) return ENOSYS;
  int result = next(barrier);
  if (result == 0 && follows_order(__builtin_return_address(0)))
    forget_object(diogenes::OrderObject::barrier, barrier);
  return result;
}

EXPORTED int pthread_barrier_wait(Barrier* barrier) noexcept {
  auto* next = next_wait.get();
  if (!next) return ENOSYS;
  if (!follows_order(__builtin_return_address(0))) {
    note_unfollowed(diogenes::OrderObject::barrier, barrier, __builtin_return_address(0));
    LockCall unseen(barrier);
    return next(barrier);
  }
  uint32_t round = before_barrier(barrier);
  int64_t begin = begin_sleep();
  int result;
  {
    LockCall unseen(barrier);
    result = next(barrier);
  }
  Blocked blocked = end_sleep(begin);
  if (result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD) after_barrier(barrier, round, blocked);
  return result;
}
