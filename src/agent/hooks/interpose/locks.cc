// Mutexes and read-write locks: who unlocks lets go on who locks next (order/order.h). A lock that is free is
// taken by trying, so that only the others cost two readings of the clock. Where nobody wants to know: some
// nanoseconds. The driver's own locks do not come here (driver_locks.h).
#include <errno.h>
#include <pthread.h>

#include "agent/hooks/driver_locks.h"
#include "agent/hooks/interpose/next.h"
#include "agent/watching/order/order.h"
#include "base/units.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

namespace {

using namespace diogenes::agent;
using diogenes::OrderObject;
using Mutex = pthread_mutex_t;
using Lock = pthread_rwlock_t;

Next<int(Mutex*)> next_lock("pthread_mutex_lock");
Next<int(Mutex*)> next_trylock("pthread_mutex_trylock");
Next<int(Mutex*, const timespec*)> next_timedlock("pthread_mutex_timedlock");
Next<int(Mutex*, clockid_t, const timespec*)> next_clocklock("pthread_mutex_clocklock");
Next<int(Mutex*)> next_unlock("pthread_mutex_unlock");
Next<int(Mutex*)> next_destroy("pthread_mutex_destroy");
Next<int(Lock*)> next_rdlock("pthread_rwlock_rdlock");
Next<int(Lock*)> next_tryrdlock("pthread_rwlock_tryrdlock");
Next<int(Lock*, const timespec*)> next_timedrdlock("pthread_rwlock_timedrdlock");
Next<int(Lock*, clockid_t, const timespec*)> next_clockrdlock("pthread_rwlock_clockrdlock");
Next<int(Lock*)> next_wrlock("pthread_rwlock_wrlock");
Next<int(Lock*)> next_trywrlock("pthread_rwlock_trywrlock");
Next<int(Lock*, const timespec*)> next_timedwrlock("pthread_rwlock_timedwrlock");
Next<int(Lock*, clockid_t, const timespec*)> next_clockwrlock("pthread_rwlock_clockwrlock");
Next<int(Lock*)> next_rwunlock("pthread_rwlock_unlock");
Next<int(Lock*)> next_rwdestroy("pthread_rwlock_destroy");

__attribute__((constructor)) void look_up() {
  next_lock.get(), next_trylock.get(), next_timedlock.get(), next_clocklock.get(), next_unlock.get();
  next_rdlock.get(), next_tryrdlock.get(), next_wrlock.get(), next_trywrlock.get(), next_rwunlock.get();
  next_timedrdlock.get(), next_timedwrlock.get(), next_clockrdlock.get(), next_clockwrlock.get();
  next_destroy.get(), next_rwdestroy.get();
}

// Of a read-write lock, libc looks at the time first, and takes no lock where it is none. Null: it waits for ever, though its
// header says that nobody may ask so; the compiler must not learn that here.
__attribute__((noipa)) bool is_time(const timespec* until) {
  return !until || (until->tv_nsec >= 0 && until->tv_nsec < 1'000'000'000);
}

// Nobody wants to know of the calling thread's locks just now.
inline bool goes_straight() { return !order_followed.load(std::memory_order_relaxed) && !guard_thread.slot; }

template <typename Object>
inline int unseen(int (*call)(Object*), Object* object) {
  LockCall unseen(object);
  return call(object);
}

template <typename Object, typename Wait>
inline int take(OrderObject kind, Object* object, uint8_t flags, int (*attempt)(Object*), Wait&& wait) {
  Blocked blocked;
  int result = attempt(object);
  if (result == EBUSY) {
    int64_t begin = begin_sleep();
    result = wait();
    blocked = end_sleep(begin);
  }
  if (result == 0 || result == EOWNERDEAD) after_lock(kind, object, flags, blocked);
  return result;
}

template <typename Wait>
inline int take_mutex(Mutex* mutex, const void* caller, Wait&& wait) {
  auto* attempt = next_trylock.get();
  if (!attempt || !follows_order(caller)) return wait();
  return take(OrderObject::mutex, mutex, 0, attempt, wait);
}

template <typename Wait>
inline int take_to_read(Lock* lock, const void* caller, Wait&& wait) {
  auto* attempt = next_tryrdlock.get();
  if (!attempt || !follows_order(caller)) return wait();
  return take(OrderObject::read_write_lock, lock, diogenes::kShared, attempt, wait);
}

template <typename Wait>
inline int take_to_write(Lock* lock, const void* caller, Wait&& wait) {
  auto* attempt = next_trywrlock.get();
  if (!attempt || !follows_order(caller)) return wait();
  return take(OrderObject::read_write_lock, lock, 0, attempt, wait);
}

template <typename Object>
inline int destroy(Next<int(Object*)>& next_function, OrderObject kind, Object* object, const void* caller) {
  auto* next = next_function.get();
  if (!next) return 0;
  int result = next(object);
  if (result == 0 && follows_order(caller)) forget_object(kind, object);
  return result;
}

constexpr int kNobodyElseRuns = 0;  // the dynamic linker asks for memory while it looks the function up

// What is done where somebody wants to know, apart: the way straight on saves no register.
#define WATCHED __attribute__((noinline))
using MutexCall = int(Mutex*);
using LockCallOf = int(Lock*);

WATCHED int watched_lock(MutexCall* next, Mutex* mutex, const void* caller) {
  return take_mutex(mutex, caller, [=] { return unseen(next, mutex); });
}
WATCHED int watched_unlock(MutexCall* next, Mutex* mutex, const void* caller) {
  if (follows_order(caller)) before_unlock(OrderObject::mutex, mutex, 0);
  // As glibc has it: a thread waits for it, or may.
  return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 1 ? next(mutex) : unseen(next, mutex);
}
WATCHED int watched_rdlock(LockCallOf* next, Lock* lock, const void* caller) {
  return take_to_read(lock, caller, [=] { return unseen(next, lock); });
}
WATCHED int watched_wrlock(LockCallOf* next, Lock* lock, const void* caller) {
  return take_to_write(lock, caller, [=] { return unseen(next, lock); });
}
WATCHED int watched_rwunlock(LockCallOf* next, Lock* lock, const void* caller) {
  if (follows_order(caller)) {
    // The caller holds it, so whoever writes now is the caller.
    bool writer = __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED) != 0;
    before_unlock(OrderObject::read_write_lock, lock, writer ? 0 : diogenes::kShared);
  }
  return unseen(next, lock);
}

}  // namespace

EXPORTED int pthread_mutex_lock(Mutex* mutex) noexcept {
  auto* next = next_lock.get();
  if (!next) return kNobodyElseRuns;
  return goes_straight() ? next(mutex) : watched_lock(next, mutex, CALLER);
}

EXPORTED int pthread_mutex_trylock(Mutex* mutex) noexcept {
  auto* next = next_trylock.get();
  if (!next) return kNobodyElseRuns;
  int result = next(mutex);
  if ((result == 0 || result == EOWNERDEAD) && follows_order(CALLER))
    after_lock(OrderObject::mutex, mutex, 0, {});
  return result;
}

EXPORTED int pthread_mutex_timedlock(Mutex* mutex, const timespec* until) noexcept {
  auto* next = next_timedlock.get();
  if (!next) return ENOSYS;
  return take_mutex(mutex, CALLER, [=] { return next(mutex, until); });
}

EXPORTED int pthread_mutex_clocklock(Mutex* mutex, clockid_t clock, const timespec* until) noexcept {
  auto* next = next_clocklock.get();
  if (!next) return ENOSYS;
  // An unknown clock is refused, whether the lock is free or not.
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) return next(mutex, clock, until);
  return take_mutex(mutex, CALLER, [=] { return next(mutex, clock, until); });
}

EXPORTED int pthread_mutex_unlock(Mutex* mutex) noexcept {
  auto* next = next_unlock.get();
  if (!next) return kNobodyElseRuns;
  return goes_straight() ? next(mutex) : watched_unlock(next, mutex, CALLER);
}

EXPORTED int pthread_mutex_destroy(Mutex* mutex) noexcept {
  return destroy(next_destroy, OrderObject::mutex, mutex, CALLER);
}

EXPORTED int pthread_rwlock_rdlock(Lock* lock) noexcept {
  auto* next = next_rdlock.get();
  if (!next) return kNobodyElseRuns;
  return goes_straight() ? next(lock) : watched_rdlock(next, lock, CALLER);
}

EXPORTED int pthread_rwlock_tryrdlock(Lock* lock) noexcept {
  auto* next = next_tryrdlock.get();
  if (!next) return kNobodyElseRuns;
  int result = next(lock);
  if (result == 0 && follows_order(CALLER))
    after_lock(OrderObject::read_write_lock, lock, diogenes::kShared, {});
  return result;
}

EXPORTED int pthread_rwlock_timedrdlock(Lock* lock, const timespec* until) noexcept {
  auto* next = next_timedrdlock.get();
  if (!next) return ENOSYS;
  if (!is_time(until)) return next(lock, until);
  return take_to_read(lock, CALLER, [=] { return next(lock, until); });
}

EXPORTED int pthread_rwlock_clockrdlock(Lock* lock, clockid_t clock, const timespec* until) noexcept {
  auto* next = next_clockrdlock.get();
  if (!next) return ENOSYS;
  if ((clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) || !is_time(until))
    return next(lock, clock, until);
  return take_to_read(lock, CALLER, [=] { return next(lock, clock, until); });
}

EXPORTED int pthread_rwlock_wrlock(Lock* lock) noexcept {
  auto* next = next_wrlock.get();
  if (!next) return kNobodyElseRuns;
  return goes_straight() ? next(lock) : watched_wrlock(next, lock, CALLER);
}

EXPORTED int pthread_rwlock_trywrlock(Lock* lock) noexcept {
  auto* next = next_trywrlock.get();
  if (!next) return kNobodyElseRuns;
  int result = next(lock);
  if (result == 0 && follows_order(CALLER)) after_lock(OrderObject::read_write_lock, lock, 0, {});
  return result;
}

EXPORTED int pthread_rwlock_timedwrlock(Lock* lock, const timespec* until) noexcept {
  auto* next = next_timedwrlock.get();
  if (!next) return ENOSYS;
  if (!is_time(until)) return next(lock, until);
  return take_to_write(lock, CALLER, [=] { return next(lock, until); });
}

EXPORTED int pthread_rwlock_clockwrlock(Lock* lock, clockid_t clock, const timespec* until) noexcept {
  auto* next = next_clockwrlock.get();
  if (!next) return ENOSYS;
  if ((clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) || !is_time(until))
    return next(lock, clock, until);
  return take_to_write(lock, CALLER, [=] { return next(lock, clock, until); });
}

EXPORTED int pthread_rwlock_unlock(Lock* lock) noexcept {
  auto* next = next_rwunlock.get();
  if (!next) return kNobodyElseRuns;
  return goes_straight() ? next(lock) : watched_rwunlock(next, lock, CALLER);
}

EXPORTED int pthread_rwlock_destroy(Lock* lock) noexcept {
  return destroy(next_rwdestroy, OrderObject::read_write_lock, lock, CALLER);
}

uintptr_t diogenes::agent::libcs_lock_function(uintptr_t ours) {
  struct Pair {
    uintptr_t ours, libcs;
  };
  auto pair = [](auto* function, auto& next) {
    return Pair{reinterpret_cast<uintptr_t>(function), reinterpret_cast<uintptr_t>(next.get())};
  };
  for (const Pair& known :
       {pair(pthread_mutex_lock, next_lock), pair(pthread_mutex_trylock, next_trylock),
        pair(pthread_mutex_unlock, next_unlock), pair(pthread_rwlock_rdlock, next_rdlock),
        pair(pthread_rwlock_tryrdlock, next_tryrdlock), pair(pthread_rwlock_wrlock, next_wrlock),
        pair(pthread_rwlock_trywrlock, next_trywrlock), pair(pthread_rwlock_unlock, next_rwunlock)})
    if (known.ours == ours) return known.libcs;
  return 0;
}
