// handles [cancel]: what programs may ask of threads and locks, and seldom do. A thread gives back the memory that holds its own
// handle; read-write locks are given a time that is none; `cancel`: a thread is cancelled in its first call of the driver, which
// must not be a place to be cancelled in: the simulated one is none, NVIDIA's keeps its lock and hangs in the next call.
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>

#include "cuda_user.h"

namespace {

struct Task {
  pthread_t handle;
  char more[4096 - sizeof(pthread_t)];
};
std::atomic<int> ended{0};
std::atomic<bool> go{false};
std::atomic<int> returned{0};

void give_back_own_handles() {
  for (int i = 0; i < 2000; ++i) {
    void* memory = mmap(nullptr, sizeof(Task), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto run = [](void* task) -> void* {
      pthread_detach(pthread_self());
      munmap(task, sizeof(Task));
      ++ended;
      return nullptr;
    };
    if (pthread_create(&static_cast<Task*>(memory)->handle, nullptr, run, memory) != 0) _exit(97);
    while (ended <= i) sched_yield();
  }
}

void cancel_in_the_driver() {
  pthread_t thread;
  const auto run = [](void*) -> void* {
    while (!go) sched_yield();
    for (int i = 0; i < 40; ++i) {
      CHECK(cuInit(0));
      ++returned;
    }
    pthread_testcancel();
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, run, nullptr) != 0) _exit(97);
  pthread_cancel(thread);
  go = true;
  void* result = nullptr;
  pthread_join(thread, &result);
  say("cancelled: %d, calls that returned: %d\n", result == PTHREAD_CANCELED, returned.load());
}

void wait_until_no_time() {
  const timespec bad{0, 2'000'000'000};
  for (auto* take : {pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock}) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    const int result = take(&lock, &bad);
    say("%d, then %d\n", result, pthread_rwlock_trywrlock(&lock));
  }
  const timespec* volatile for_ever = nullptr;  // libc's header forbids it, and libc does it
  for (auto* take : {pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock}) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    say("for ever: %d\n", take(&lock, for_ever));
  }
}

}  // namespace

int main(int count, char**) {
  if (count > 1) cancel_in_the_driver();
  give_back_own_handles();
  wait_until_no_time();
  CudaUser user;
  uint32_t* result = CudaUser::pinned();
  user.compute_pinned(result, 3);
  say("%lu\n", sum(result));
}
