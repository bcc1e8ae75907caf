// Order between threads: one lets another go on. What is recorded of it: order_records.h.
//
// In: the program's calls of locks, conditions, semaphores, barriers, thread starts and ends
// (interpose/), and its futex calls (guard/system_calls/dispatch.cc), in stages with guards. Out:
// OrderRecords. A release is noted before it takes effect, an acquire after it has. All functions keep errno,
// may be called in signal handlers, and allocate nothing.
#pragma once
#include <atomic>
#include <cstdint>

#include "agent/core/thread_state.h"
#include "agent/watching/guard/threads/threads.h"
#include "trace/fact_records.h"

namespace diogenes::agent {

// order_wanted: this process's stage records it. order_followed: and not in windows, or in one just now.
extern __attribute__((visibility("hidden"))) std::atomic<bool> order_wanted, order_followed;
extern bool order_is_for_times;  // of stage 2 (hand_overs.h); set once, at the start

void start_order();           // this process's stage records order
void follow_order(bool now);  // where it is recorded in windows

// False: the call that came from `caller` is not the program's, or nobody wants to know.
inline bool follows_order(const void* caller) {
  if (!order_followed.load(std::memory_order_relaxed)) [[likely]]
    return false;
  return thread_state.pass == 0 && !guard_thread.driver && !in_driver_now() &&
         !in_driver_code(reinterpret_cast<uintptr_t>(caller));
}

// An acquire's wait: asleep for so long; below 0: it was not.
struct Blocked {
  int64_t ns = -1;
};

// The thread is about to go to sleep: it touches nothing until end_sleep(). CLOCK_MONOTONIC, ns.
int64_t begin_sleep();
Blocked end_sleep(int64_t begin);
// The process ends: who is asleep, and since when.
void record_sleepers();

// Mutexes and read-write locks. An acquire follows all releases before it.
void before_unlock(OrderObject kind, const void* lock, uint8_t flags);
void after_lock(OrderObject kind, const void* lock, uint8_t flags, Blocked blocked);

// A call of another than the program, from `caller`, that releases an object of the program's perhaps: a
// host function on a thread of the driver's, a signal handler that interrupted the agent.
void note_unfollowed(OrderObject kind, const void* object, const void* caller);

// Semaphores. `value`: tokens that it has now; taken if it is `fresh` (initialised), or was not known yet.
void note_semaphore(const void* semaphore, uint32_t value, bool fresh, bool others_reach_it);
bool knows_semaphore(const void* semaphore);
void before_post(const void* semaphore);
void after_semaphore_wait(const void* semaphore, Blocked blocked);

// Conditions. begin_wait: releases so far; after_wait: only for waits that were not timed out.
void note_condition(const void* condition, bool others_reach_it);  // it is initialised
void before_signal(const void* condition);
uint32_t begin_condition_wait(const void* condition);
void after_condition_wait(const void* condition, uint32_t before, Blocked blocked);

// Barriers. Arrival: which round, 0: not known.
void note_barrier(const void* barrier, uint32_t threads, bool others_reach_it);
uint32_t before_barrier(const void* barrier);
void after_barrier(const void* barrier, uint32_t round, Blocked blocked);

void forget_object(OrderObject kind, const void* object);  // it is destroyed

// Futex calls that the program makes itself, from `site`; libc's own are left out. What a wait heard is
// recorded before the next record of its thread.
void order_by_futex(uint64_t address, uint64_t operation, uintptr_t site);
void finish_futex_wait();
void write_owed_order();  // before another record: what a futex call heard, and the thread's start
void find_libc();         // once, at the start

// What a new thread is told by its maker.
struct ThreadStart {
  uint32_t number = 0;
  uint32_t file = 0xffffffff;  // of the maker, where it recorded the start
};
void before_thread_start(ThreadStart& start);
// By the maker and by the new thread, whoever comes first: `handle`, a pthread_t, is thread `number`.
void note_thread_handle(uint64_t handle, uint32_t number, bool detached);
void begin_ordered_thread(const ThreadStart& start);  // on the new thread
void end_ordered_thread();                            // its last moment
uint32_t threads_running();  // of the program, the main one among them; 0xffffffff: not known
void note_detached(uint64_t handle);
// Around a join: the thread's number, 0: not known.
uint32_t number_of_thread(uint64_t handle);
void after_join(uint64_t handle, uint32_t number, Blocked blocked);

// Called after an acquire that was recorded, or that slept, with no lock of the agent's held. Who slept has not come by
// memory that was opened meanwhile, and does not if it is guarded again now.
void after_acquire();

}  // namespace diogenes::agent
