// pthread_create: a new thread of the program is registered with the guards before it runs any of the
// program's code.
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "agent/guard/guards.h"
#include "agent/guard/threads.h"
#include "agent/interpose/next.h"
#include "agent/stage.h"

namespace {

using namespace diogenes::agent;

using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
Next<Create> next_create("pthread_create");

// What the new thread needs to know, from a fixed pool: nothing is allocated here.
struct Start {
  std::atomic<bool> used{false};
  bool driver = false;
  void* (*routine)(void*) = nullptr;
  void* argument = nullptr;
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
  start.used.store(false, std::memory_order_release);
  if (driver) {
    note_driver_thread();
  } else {
    guard_this_thread();
    note_thread_came();
  }
  return routine(argument);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*routine)(void*),
                                                                     void* argument) noexcept {
  auto* next = next_create.get();
  if (!next) return EAGAIN;
  if (!stage_uses_guards()) return next(thread, attributes, routine, argument);
  Start* start = take_start();
  // Without a start the thread cannot be registered; the next look at the process's threads finds it.
  if (!start) return next(thread, attributes, routine, argument);
  start->driver = in_driver_now() || in_driver_code(reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
  // The main thread, which nobody made: before it is one of several.
  if (!start->driver && !guard_thread.slot && gettid() == getpid()) guard_this_thread();
  start->routine = routine;
  start->argument = argument;
  bool driver = start->driver;
  if (!driver) note_thread_coming();
  ++guard_thread.creating;
  note_creation(false);
  int result = next(thread, attributes, begin_thread, start);
  note_creation(true);
  --guard_thread.creating;
  if (result != 0) {
    start->used.store(false, std::memory_order_release);
    if (!driver) note_thread_came();
  }
  return result;
}
