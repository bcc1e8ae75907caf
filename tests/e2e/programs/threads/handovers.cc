// handovers: results of the GPU are handed from thread to thread by everything that POSIX offers for it, and
// what the calls return in their rarer cases is printed. Who hands over and who takes is the same in every
// run; where a test needs to know that a thread is about to wait, an atomic variable says so.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

#include <atomic>

#include "cuda_user.h"

static CudaUser* user;
static uint32_t* result;
static std::atomic<int> turn{0};

static void until(int value) {
  while (turn.load() < value) usleep(100);
}

static pthread_t start(void* (*routine)(void*)) {
  pthread_t thread;
  turn = 0;
  if (pthread_create(&thread, nullptr, routine, nullptr) != 0) _exit(97);
  return thread;
}

static void join(pthread_t thread, const char* name) {
  void* value = nullptr;
  const int status = pthread_join(thread, &value);
  say("%s: %d, %lu\n", name, status, reinterpret_cast<unsigned long>(value));
}

static void* taken() { return reinterpret_cast<void*>(sum(result)); }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, waiters_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t ping, pong, handled;
static bool ready = false;
static uint32_t futex = 0;

static void* by_start(void*) {
  user->use_on_this_thread();
  void* value = taken();
  user->compute_pinned(result, 2);
  return value;
}

static void* by_mutex(void*) {
  until(1);
  pthread_mutex_lock(&mutex);
  void* value = taken();
  pthread_mutex_unlock(&mutex);
  return value;
}

static void* by_condition(void*) {
  pthread_mutex_lock(&waiters_mutex);
  turn = 1;
  while (!ready) pthread_cond_wait(&condition, &waiters_mutex);
  pthread_mutex_unlock(&waiters_mutex);
  return taken();
}

static void* by_semaphore(void*) {
  user->use_on_this_thread();
  for (uint32_t round = 0; round < 3; ++round) {
    while (sem_wait(&ping) != 0) {
    }
    user->compute_pinned(result, round);
    sem_post(&pong);
  }
  return taken();
}

static void* by_barrier(void*) {
  user->use_on_this_thread();
  uint32_t* mine = CudaUser::pinned();
  unsigned long serial = 0;
  for (uint32_t round = 0; round < 4; ++round) {
    user->compute_pinned(mine, round);
    serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  }
  return reinterpret_cast<void*>(sum(mine) + 0 * serial);
}

static void* by_lock(void*) {
  until(1);
  pthread_rwlock_rdlock(&lock);
  void* value = taken();
  pthread_rwlock_unlock(&lock);
  return value;
}

static void* by_futex(void*) {
  turn = 1;
  while (__atomic_load_n(&futex, __ATOMIC_ACQUIRE) == 0)
    syscall(SYS_futex, &futex, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  return taken();
}

static void* waits_for_ever(void*) {
  pthread_mutex_lock(&waiters_mutex);
  pthread_cleanup_push([](void* held) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(held)); },
                       &waiters_mutex);
  turn = 1;
  for (;;) pthread_cond_wait(&condition, &waiters_mutex);
  pthread_cleanup_pop(1);
  return nullptr;
}

static void* by_handler(void*) {
  turn = 1;
  while (sem_wait(&handled) != 0) {
  }
  return taken();
}

static int by_c11(void*) { return static_cast<int>(sum(result) % 1000); }

static void hand_over() {
  user->compute_pinned(result, 1);
  join(start(by_start), "start and end");
  taken();

  pthread_t thread = start(by_mutex);
  pthread_mutex_lock(&mutex);
  user->compute_pinned(result, 3);
  pthread_mutex_unlock(&mutex);
  turn = 1;
  join(thread, "mutex");

  thread = start(by_condition);
  until(1);
  pthread_mutex_lock(&waiters_mutex);  // it waits now
  user->compute_pinned(result, 4);
  ready = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&waiters_mutex);
  join(thread, "condition");

  sem_init(&ping, 0, 0), sem_init(&pong, 0, 0);
  thread = start(by_semaphore);
  for (uint32_t round = 0; round < 3; ++round) {
    user->compute_pinned(result, 5);
    sem_post(&ping);
    while (sem_wait(&pong) != 0) {
    }
  }
  join(thread, "semaphore");

  pthread_barrier_init(&barrier, nullptr, 3);
  pthread_t others[3];
  for (auto& other : others) other = start(by_barrier);
  for (auto& other : others) join(other, "barrier");

  thread = start(by_lock);
  pthread_rwlock_wrlock(&lock);
  user->compute_pinned(result, 6);
  pthread_rwlock_unlock(&lock);
  turn = 1;
  join(thread, "read-write lock");

  thread = start(by_futex);
  until(1);
  usleep(20'000);
  user->compute_pinned(result, 7);
  __atomic_store_n(&futex, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &futex, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  join(thread, "futex");

  sem_init(&handled, 0, 0);
  signal(SIGUSR1, [](int) { sem_post(&handled); });
  thread = start(by_handler);
  until(1);
  user->compute_pinned(result, 8);
  raise(SIGUSR1);
  join(thread, "signal handler");

  thrd_t c11;
  int value = 0;
  say("C11: %d", thrd_create(&c11, by_c11, nullptr));
  say(", %d", thrd_join(c11, &value));
  say(", %d\n", value);
}

static timespec soon() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += 2'000'000;
  if (time.tv_nsec >= 1'000'000'000) ++time.tv_sec, time.tv_nsec -= 1'000'000'000;
  return time;
}

static pthread_mutex_t robust;

static void rarer_cases() {
  ready = false;
  pthread_t thread = start(waits_for_ever);
  until(1);
  pthread_mutex_lock(&waiters_mutex);
  pthread_mutex_unlock(&waiters_mutex);
  pthread_cancel(thread);
  void* value = nullptr;
  pthread_join(thread, &value);
  say("cancelled: %d, mutex %d\n", value == PTHREAD_CANCELED, pthread_mutex_trylock(&waiters_mutex));

  const timespec time = soon();
  say("timed out: %d", pthread_cond_timedwait(&condition, &waiters_mutex, &time));
  pthread_mutex_unlock(&waiters_mutex);
  errno = 0;
  const int waited = sem_timedwait(&ping, &time);
  say(", %d %d", waited, errno);
  errno = 0;
  const int tried = sem_trywait(&ping);
  say(", %d %d", tried, errno);
  errno = 77;
  sem_post(&ping);
  sem_wait(&ping);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  say(", errno kept %d\n", errno);

  pthread_mutexattr_t attributes;
  pthread_mutex_t checking, recursive;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checking, &attributes);
  say("error checking: %d", pthread_mutex_unlock(&checking));
  say(" %d", pthread_mutex_lock(&checking));
  say(" %d", pthread_mutex_lock(&checking));
  say(" %d", pthread_mutex_destroy(&checking));
  say(" %d", pthread_mutex_unlock(&checking));
  say(" %d\n", pthread_mutex_destroy(&checking));
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  say("recursive: %d", pthread_mutex_lock(&recursive));
  say(" %d", pthread_mutex_lock(&recursive));
  say(" %d", pthread_mutex_unlock(&recursive));
  say(" %d", pthread_mutex_unlock(&recursive));
  say(" %d\n", pthread_mutex_unlock(&recursive));
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attributes);
  thread = start([](void*) -> void* { return reinterpret_cast<void*>(pthread_mutex_lock(&robust) + 0L); });
  join(thread, "owner ends");
  say("robust: %d", pthread_mutex_lock(&robust));
  say(" %d", pthread_mutex_consistent(&robust));
  say(" %d\n", pthread_mutex_unlock(&robust));

  const pid_t child = fork();
  if (child == 0) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    sem_post(&ping);
    sem_wait(&ping);
    thread = start([](void*) -> void* { return nullptr; });
    _exit(pthread_join(thread, nullptr) == 0 ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say("child: %d\n", WEXITSTATUS(status));

  pthread_t many[200];
  for (auto& one : many) one = start([](void* argument) { return argument; });
  int failed = 0;
  for (auto& one : many) failed += pthread_join(one, nullptr);
  say("many threads: %d\n", failed);
}

int main() {
  CudaUser cuda_user;
  user = &cuda_user;
  result = CudaUser::pinned();
  hand_over();
  rarer_cases();
  return 0;
}
