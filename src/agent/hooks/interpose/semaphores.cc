// POSIX semaphores: who posts lets go on who waits (order/order.h). sem_post may be called in signal
// handlers; sem_wait is where a thread can be cancelled, so nothing is held across it, and it is not tried
// first: that would take a token where a cancelled thread leaves it.
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>

#include "agent/hooks/interpose/next.h"
#include "agent/watching/order/order.h"
#include "base/units.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

namespace {

using namespace diogenes::agent;
using diogenes::OrderObject;

Next<int(sem_t*, int, unsigned)> next_init("sem_init");
Next<int(sem_t*)> next_destroy("sem_destroy");
Next<sem_t*(const char*, int, ...)> next_open("sem_open");
Next<int(sem_t*)> next_post("sem_post");
Next<int(sem_t*)> next_wait("sem_wait");
Next<int(sem_t*)> next_trywait("sem_trywait");
Next<int(sem_t*, const timespec*)> next_timedwait("sem_timedwait");
Next<int(sem_t*, clockid_t, const timespec*)> next_clockwait("sem_clockwait");

__attribute__((constructor)) void look_up() {
  next_init.get(), next_destroy.get(), next_open.get(), next_post.get(), next_wait.get();
  next_trywait.get(), next_timedwait.get(), next_clockwait.get();
}

int unsupported() {
  errno = ENOSYS;
  return -1;
}

int value_of(sem_t* semaphore) {
  int value = 0;
  return sem_getvalue(semaphore, &value) == 0 && value > 0 ? value : 0;
}

// As glibc keeps it since 2.21, behind the value: whether other processes reach it, who may have made it.
bool is_shared(const sem_t* semaphore) {
  int shared = 0;
  memcpy(&shared, semaphore->__size + 8, sizeof shared);
  return shared != 0;
}

void note_if_new(sem_t* semaphore, int value) {
  if (!knows_semaphore(semaphore))
    note_semaphore(semaphore, static_cast<uint32_t>(value), false, is_shared(semaphore));
}

template <typename Call>
int wait(sem_t* semaphore, const void* caller, Call&& call) {
  if (!follows_order(caller)) {
    note_unfollowed(OrderObject::semaphore, semaphore, caller);
    return call();
  }
  int value = value_of(semaphore);
  note_if_new(semaphore, value);
  int64_t begin = value == 0 ? begin_sleep() : 0;
  int result = call();
  Blocked blocked;
  if (value == 0) blocked = end_sleep(begin);
  if (result == 0) after_semaphore_wait(semaphore, blocked);
  return result;
}

}  // namespace

EXPORTED int sem_init(sem_t* semaphore, int shared, unsigned value) noexcept {
  auto* next = next_init.get();
  if (!next) return unsupported();
  int result = next(semaphore, shared, value);
  if (result == 0 && follows_order(CALLER)) note_semaphore(semaphore, value, true, shared != 0);
  return result;
}

EXPORTED int sem_destroy(sem_t* semaphore) noexcept {
  auto* next = next_destroy.get();
  if (!next) return unsupported();
  int result = next(semaphore);
  if (result == 0 && follows_order(CALLER)) forget_object(OrderObject::semaphore, semaphore);
  return result;
}

EXPORTED sem_t* sem_open(const char* name, int flags, ...) noexcept {
  mode_t mode = 0;
  unsigned value = 0;
  if (flags & O_CREAT) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    value = va_arg(arguments, unsigned);
    va_end(arguments);
  }
  auto* next = next_open.get();
  if (!next) return unsupported(), SEM_FAILED;
  sem_t* semaphore = next(name, flags, mode, value);
  if (semaphore != SEM_FAILED && follows_order(CALLER)) note_semaphore(semaphore, 0, true, true);
  return semaphore;
}

EXPORTED int sem_post(sem_t* semaphore) noexcept {
  auto* next = next_post.get();
  if (!next) return unsupported();
  if (follows_order(CALLER)) {
    note_if_new(semaphore, value_of(semaphore));
    before_post(semaphore);
  } else {
    note_unfollowed(OrderObject::semaphore, semaphore, CALLER);
  }
  LockCall unseen(semaphore);
  return next(semaphore);
}

EXPORTED int sem_wait(sem_t* semaphore) {
  auto* next = next_wait.get();
  if (!next) return unsupported();
  return wait(semaphore, CALLER, [=] {
    LockCall unseen(semaphore);
    return next(semaphore);
  });
}

EXPORTED int sem_trywait(sem_t* semaphore) noexcept {
  auto* next = next_trywait.get();
  if (!next) return unsupported();
  return wait(semaphore, CALLER, [=] { return next(semaphore); });
}

EXPORTED int sem_timedwait(sem_t* semaphore, const timespec* until) {
  auto* next = next_timedwait.get();
  if (!next) return unsupported();
  return wait(semaphore, CALLER, [=] { return next(semaphore, until); });
}

EXPORTED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  auto* next = next_clockwait.get();
  if (!next) return unsupported();
  return wait(semaphore, CALLER, [=] { return next(semaphore, clock, until); });
}
