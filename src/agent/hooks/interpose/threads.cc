// pthread_create: where there are guards, a new thread of the program is registered with them before it runs any of
// the program's code. Its start, its end and who joins it are order between threads. thrd_create and thrd_join
// come here, because libc's own do not call by name.
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>

#include "agent/core/running_stage.h"
#include "agent/hooks/interpose/next.h"
#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/system_calls/kernel.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/order/order.h"
#include "base/units.h"

namespace {

using namespace diogenes::agent;

using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
Next<Create> next_create("pthread_create");
Next<int(pthread_t)> next_detach("pthread_detach");
Next<int(pthread_t)> next_cancel("pthread_cancel");
Next<int(pthread_t, void**)> next_join("pthread_join");
Next<int(pthread_t, void**)> next_tryjoin("pthread_tryjoin_np");
Next<int(pthread_t, void**, const timespec*)> next_timedjoin("pthread_timedjoin_np");
Next<int(pthread_t, void**, clockid_t, const timespec*)> next_clockjoin("pthread_clockjoin_np");
Next<int(thrd_t*, thrd_start_t, void*)> next_thrd_create("thrd_create");
Next<int(thrd_t, int*)> next_thrd_join("thrd_join");
Next<int(thrd_t)> next_thrd_detach("thrd_detach");

// What the new thread needs to know, from a fixed pool: nothing is allocated here.
struct Start {
  std::atomic<bool> used{false};
  bool driver = false;
  bool followed = false;  // its order is
  void* (*routine)(void*) = nullptr;
  void* argument = nullptr;
  bool detached = false;
  size_t stack_bytes = 0;
  ThreadStart order;
};
constexpr int kStarts = 1024;
Start starts[kStarts];

Start* take_start() {
  for (auto& start : starts)
    if (!start.used.load(std::memory_order_relaxed) && !start.used.exchange(true, std::memory_order_acquire))
      return &start;
  return nullptr;
}

void* begin_thread(void* opaque) {
  auto& start = *static_cast<Start*>(opaque);
  auto* routine = start.routine;
  auto* argument = start.argument;
  bool driver = start.driver;
  size_t stack_bytes = start.stack_bytes;
  if (start.followed) {
    note_thread_handle(static_cast<uint64_t>(pthread_self()), start.order.number, start.detached);
    begin_ordered_thread(start.order);
  }
  start.used.store(false, std::memory_order_release);
  if (!stage_uses_guards()) {
    guard_thread.driver = driver;
  } else if (driver) {
    note_driver_thread();
  } else {
    guard_this_thread(stack_bytes);
    note_thread_came();
  }
  return routine(argument);
}

int create(Create* next, pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
           void* argument, const void* caller) {
  Start* start = take_start();
  // Without a start the thread cannot be registered; the next look at the process's threads finds it.
  if (!start) return next(thread, attributes, routine, argument);
  start->driver = in_driver_now() || in_driver_code(reinterpret_cast<uintptr_t>(caller));
  const bool guarded = stage_uses_guards() && !start->driver;
  // The main thread, which nobody made: before it is one of several.
  if (guarded && !guard_thread.slot && kernel_thread_id() == static_cast<uint32_t>(getpid()))
    guard_this_thread();
  pthread_attr_t usual;
  pthread_attr_init(&usual);
  pthread_attr_getstacksize(attributes ? attributes : &usual, &start->stack_bytes);
  pthread_attr_destroy(&usual);
  start->routine = routine;
  start->argument = argument;
  bool followed = start->followed = stage_follows_threads() && follows_order(caller);
  if (followed) {
    int state = PTHREAD_CREATE_JOINABLE;
    if (attributes) pthread_attr_getdetachstate(attributes, &state);
    start->detached = state == PTHREAD_CREATE_DETACHED;
    before_thread_start(start->order);
  }
  if (guarded) note_thread_coming();
  ++guard_thread.creating;
  note_creation(false);
  int result = next(thread, attributes, begin_thread, start);
  note_creation(true);
  --guard_thread.creating;
  if (result != 0) {
    start->used.store(false, std::memory_order_release);
    if (guarded) note_thread_came();
  }
  return result;
}

// The guards have to know each thread; who let whom go on is no matter where waits are corrected.
bool follows_creation() { return stage_follows_threads() || stage_uses_guards(); }

// What a join by any name does.
template <typename Call>
int join(pthread_t thread, const void* caller, Call&& call) {
  if (!follows_order(caller)) return call();
  auto handle = static_cast<uint64_t>(thread);
  uint32_t number = number_of_thread(handle);
  int64_t begin = begin_sleep();
  int result = call();
  Blocked blocked = end_sleep(begin);
  if (number == 0) number = number_of_thread(handle);  // it has begun since, and told its handle
  if (result == 0) after_join(handle, number, blocked);
  return result;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                            void* argument) noexcept {
  auto* next = next_create.get();
  if (!next) return EAGAIN;
  if (!follows_creation()) return next(thread, attributes, routine, argument);
  return create(next, thread, attributes, routine, argument, __builtin_return_address(0));
}

// As libc's own, which makes a thread like any other; its routine's result is the lower half of a pointer's.
EXPORTED int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  auto* next = next_thrd_create.get();
  auto* next_of_pthread = next_create.get();
  if (!next_of_pthread) return thrd_error;
  if (next && !follows_creation()) return next(thread, routine, argument);
  auto* as_of_pthread = reinterpret_cast<void* (*)(void*)>(reinterpret_cast<void*>(routine));
  int result = create(next_of_pthread, thread, nullptr, as_of_pthread, argument, __builtin_return_address(0));
  return result == 0 ? thrd_success : result == ENOMEM ? thrd_nomem : thrd_error;
}

EXPORTED int pthread_join(pthread_t thread, void** result) {
  auto* next = next_join.get();
  if (!next) return ESRCH;
  return join(thread, __builtin_return_address(0), [=] { return next(thread, result); });
}

EXPORTED int pthread_tryjoin_np(pthread_t thread, void** result) noexcept {
  auto* next = next_tryjoin.get();
  if (!next) return ESRCH;
  return join(thread, __builtin_return_address(0), [=] { return next(thread, result); });
}

EXPORTED int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* until) {
  auto* next = next_timedjoin.get();
  if (!next) return ESRCH;
  return join(thread, __builtin_return_address(0), [=] { return next(thread, result, until); });
}

EXPORTED int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock, const timespec* until) {
  auto* next = next_clockjoin.get();
  if (!next) return ENOSYS;
  return join(thread, __builtin_return_address(0), [=] { return next(thread, result, clock, until); });
}

EXPORTED int thrd_join(thrd_t thread, int* result) {
  auto* next = next_thrd_join.get();
  if (!next) return thrd_error;
  return join(thread, __builtin_return_address(0), [=] { return next(thread, result); });
}

EXPORTED int pthread_detach(pthread_t thread) noexcept {
  auto* next = next_detach.get();
  if (!next) return ESRCH;
  // Before: its handle may be another thread's as soon as it is detached.
  if (follows_order(__builtin_return_address(0))) note_detached(static_cast<uint64_t>(thread));
  return next(thread);
}

EXPORTED int pthread_cancel(pthread_t thread) {
  auto* next = next_cancel.get();
  if (!next) return ESRCH;
  note_cancellation();
  return next(thread);
}

EXPORTED int thrd_detach(thrd_t thread) {
  auto* next = next_thrd_detach.get();
  if (!next) return thrd_error;
  if (follows_order(__builtin_return_address(0))) note_detached(static_cast<uint64_t>(thread));
  return next(thread);
}
