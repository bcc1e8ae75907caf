// Condition variables: who signals lets go on who waits; the wait gives its mutex away and takes it again
// (order/order.h). A wait is where a thread can be cancelled: nothing is held across it.
#include <errno.h>
#include <pthread.h>

#include "agent/hooks/interpose/next.h"
#include "agent/watching/order/order.h"
#include "base/units.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

namespace {

using namespace diogenes::agent;
using diogenes::OrderObject;
using Condition = pthread_cond_t;
using Mutex = pthread_mutex_t;

// Their first version in glibc had another layout.
constexpr const char* kVersion = "GLIBC_2.3.2";
Next<int(Condition*, Mutex*)> next_wait("pthread_cond_wait", kVersion);
Next<int(Condition*, Mutex*, const timespec*)> next_timedwait("pthread_cond_timedwait", kVersion);
Next<int(Condition*, Mutex*, clockid_t, const timespec*)> next_clockwait("pthread_cond_clockwait");
Next<int(Condition*)> next_signal("pthread_cond_signal", kVersion);
Next<int(Condition*)> next_broadcast("pthread_cond_broadcast", kVersion);
Next<int(Condition*, const pthread_condattr_t*)> next_init("pthread_cond_init", kVersion);
Next<int(Condition*)> next_destroy("pthread_cond_destroy", kVersion);

__attribute__((constructor)) void look_up() {
  next_wait.get(), next_timedwait.get(), next_clockwait.get(), next_signal.get(), next_broadcast.get();
  next_init.get(), next_destroy.get();
}

template <typename Call>
int wait(Condition* condition, Mutex* mutex, const void* caller, Call&& call) {
  if (!follows_order(caller)) return call();
  uint32_t before = begin_condition_wait(condition);
  before_unlock(OrderObject::mutex, mutex, 0);
  int64_t begin = begin_sleep();
  int result = call();
  Blocked blocked = end_sleep(begin);
  if (result == 0 || result == EOWNERDEAD) after_condition_wait(condition, before, blocked);
  // For times, whoever signalled it let it go on.
  if (!order_is_for_times && (result == 0 || result == EOWNERDEAD || result == ETIMEDOUT))
    after_lock(OrderObject::mutex, mutex, 0, {});
  return result;
}

int signal(Next<int(Condition*)>& next_function, Condition* condition, const void* caller) {
  auto* next = next_function.get();
  if (!next) return 0;
  if (follows_order(caller))
    before_signal(condition);
  else
    note_unfollowed(OrderObject::condition, condition, caller);
  LockCall unseen(condition);
  return next(condition);
}

}  // namespace

EXPORTED int pthread_cond_wait(Condition* condition, Mutex* mutex) {
  auto* next = next_wait.get();
  if (!next) return EINVAL;
  return wait(condition, mutex, CALLER, [=] {
    LockCall unseen(condition, mutex);
    return next(condition, mutex);
  });
}

EXPORTED int pthread_cond_timedwait(Condition* condition, Mutex* mutex, const timespec* until) {
  auto* next = next_timedwait.get();
  if (!next) return EINVAL;
  return wait(condition, mutex, CALLER, [=] { return next(condition, mutex, until); });
}

EXPORTED int pthread_cond_clockwait(Condition* condition, Mutex* mutex, clockid_t clock,
                                    const timespec* until) {
  auto* next = next_clockwait.get();
  if (!next) return EINVAL;
  return wait(condition, mutex, CALLER, [=] { return next(condition, mutex, clock, until); });
}

EXPORTED int pthread_cond_signal(Condition* condition) noexcept {
  return signal(next_signal, condition, CALLER);
}

EXPORTED int pthread_cond_broadcast(Condition* condition) noexcept {
  return signal(next_broadcast, condition, CALLER);
}

EXPORTED int pthread_cond_init(Condition* condition, const pthread_condattr_t* attributes) noexcept {
  auto* next = next_init.get();
  if (!next) return EAGAIN;
  int result = next(condition, attributes);
  if (result == 0 && follows_order(CALLER)) {
    int shared = PTHREAD_PROCESS_PRIVATE;
    if (attributes) pthread_condattr_getpshared(attributes, &shared);
    note_condition(condition, shared != PTHREAD_PROCESS_PRIVATE);
  }
  return result;
}

EXPORTED int pthread_cond_destroy(Condition* condition) noexcept {
  auto* next = next_destroy.get();
  if (!next) return 0;
  int result = next(condition);
  if (result == 0 && follows_order(CALLER)) forget_object(OrderObject::condition, condition);
  return result;
}
