// Calls that may wait for a lock, in which system calls are not dispatched one by one.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/testing/child.h"
#include "agent/watching/guard/testing/raising.h"
#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {
namespace {

// System calls of this thread that were dispatched while `work` ran.
template <typename Work>
uint32_t dispatched(Work&& work) {
  const uint32_t before = guard_thread.slot->calls.load();
  work();
  return guard_thread.slot->calls.load() - before;
}

void five_calls() {
  for (int i = 0; i < 5; ++i) syscall(SYS_getppid);
}

TEST(LockCalls, CountAsOneCall) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    CHECK(dispatched(five_calls) == 5);
    CHECK(dispatched([] {
            LockCall unseen{};
            five_calls();
          }) == 1);
    CHECK(dispatched(five_calls) == 5);
  });
}

TEST(LockCalls, EndBeforeAHandlerOfTheProgram) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    signal(SIGUSR1, [](int) { five_calls(); });
    CHECK(dispatched([] {
            LockCall unseen{};
            five_calls();
            raise(SIGUSR1);
          }) >= 6);                              // and the return from the handler
    signal(SIGTRAP, [](int) { five_calls(); });  // one of those that the guards need themselves
    CHECK(dispatched([] {
            LockCall unseen{};
            raise(SIGTRAP);
          }) >= 6);
    CHECK(dispatched(five_calls) == 5);
  });
}

TEST(LockCalls, EndWhereThreadsAreCancelled) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    CHECK(dispatched([] {
            LockCall unseen{};
            note_cancellation();
            five_calls();
          }) == 6);
    CHECK(dispatched([] {
            LockCall unseen{};
            five_calls();
          }) == 5);
  });
}

// One that waits for a lock is at rest: memory may be guarded, and it is its touch afterwards that counts.
TEST(LockCalls, AThreadThatWaitsInOneIsWatched) {
  RUN_IN_CHILD({
    CHECK(start_guards());
    char* memory = pages(1);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    std::atomic<bool> begun{false};
    std::thread waiter([&] {
      begun = true;
      {
        LockCall unseen{};
        pthread_mutex_lock(&mutex);
      }
      memory[100] = 1;
      pthread_mutex_unlock(&mutex);
    });
    while (!begun) sched_yield();
    usleep(10'000);
    GuardHandle guard = guard_soon(memory, 4096);
    CHECK(guard != kNoGuard && collect(guard).by == TouchBy::nobody);
    pthread_mutex_unlock(&mutex);
    waiter.join();
    Touch touch = lower_guard(guard);
    CHECK(touch.by == TouchBy::program && touch.address == address_of(memory + 100));
  });
}

}  // namespace
}  // namespace diogenes::agent
