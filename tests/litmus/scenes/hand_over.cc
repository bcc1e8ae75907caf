#include "hand_over.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cstdlib>

namespace scenes {

bool is_late() {
  static const bool late = getenv("DIOGENES_SIMULATED_LATE") != nullptr;
  return late;
}

Baton::Baton(How how) : how_(how) {
  pthread_barrier_init(&barrier_, nullptr, 2);
  sem_init(&semaphore_, 0, 0);
}
Baton::~Baton() {
  pthread_barrier_destroy(&barrier_);
  sem_destroy(&semaphore_);
}

void Baton::give() {
  switch (how_) {
    case How::condition:
      pthread_mutex_lock(&mutex_);
      ready_ = true;
      pthread_cond_signal(&condition_);
      pthread_mutex_unlock(&mutex_);
      break;
    case How::semaphore:
      sem_post(&semaphore_);
      break;
    case How::mutex:
      pthread_mutex_lock(&mutex_);
      ready_ = true;
      pthread_mutex_unlock(&mutex_);
      break;
    case How::rwlock:
      pthread_rwlock_wrlock(&rwlock_);
      ready_ = true;
      pthread_rwlock_unlock(&rwlock_);
      break;
    case How::barrier:
      pthread_barrier_wait(&barrier_);
      break;
    case How::futex:
      word_.store(1);
      syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
      break;
    case How::flag:
      word_.store(1);
      break;
  }
}

void Baton::take() {
  switch (how_) {
    case How::condition:
      pthread_mutex_lock(&mutex_);
      while (!ready_) pthread_cond_wait(&condition_, &mutex_);
      pthread_mutex_unlock(&mutex_);
      break;
    case How::semaphore:
      while (sem_wait(&semaphore_) != 0) {
      }
      break;
    case How::mutex:
      for (bool seen = false; !seen;) {
        usleep(20);
        pthread_mutex_lock(&mutex_);
        seen = ready_;
        pthread_mutex_unlock(&mutex_);
      }
      break;
    case How::rwlock:
      for (bool seen = false; !seen;) {
        usleep(20);
        pthread_rwlock_rdlock(&rwlock_);
        seen = ready_;
        pthread_rwlock_unlock(&rwlock_);
      }
      break;
    case How::barrier:
      pthread_barrier_wait(&barrier_);
      break;
    case How::futex:
      while (word_.load() == 0) syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
      break;
    case How::flag:
      while (word_.load() == 0) sched_yield();
      break;
  }
}

}  // namespace scenes
