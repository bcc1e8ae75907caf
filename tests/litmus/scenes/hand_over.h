// How one thread tells another to go on, in each of the ways that programs have; and an order of two threads
// that is chance. For the named scenes, and for random programs (tests/random).
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace scenes {

enum class How { condition, semaphore, mutex, rwlock, barrier, futex, flag };

// Is this run one on the adversarial driver?
bool is_late();

// One thread gives, another takes, once.
class Baton {
 public:
  explicit Baton(How how);
  ~Baton();
  Baton(const Baton&) = delete;
  Baton& operator=(const Baton&) = delete;
  void give();
  void take();

 private:
  const How how_;
  bool ready_ = false;  // under mutex_ or rwlock_
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
  pthread_rwlock_t rwlock_ = PTHREAD_RWLOCK_INITIALIZER;
  pthread_barrier_t barrier_;
  sem_t semaphore_;
  std::atomic<uint32_t> word_{0};
};

// Nothing in the program orders these two threads; one of them happens to come first. On the adversarial
// driver it is the other one: what depends on the order of this run alone shows. (The atomics make chance
// repeatable; they are not part of what a scene is about.)
class Chance {
 public:
  explicit Chance(bool second_comes_first = is_late()) : second_comes_first_(second_comes_first) {}
  void before_first() { wait_if(second_comes_first_, second_); }
  void after_first() { first_.store(true); }
  void before_second() { wait_if(!second_comes_first_, first_); }
  void after_second() { second_.store(true); }

 private:
  static void wait_if(bool waits, const std::atomic<bool>& other) {
    while (waits && !other.load()) usleep(20);
  }
  const bool second_comes_first_;
  std::atomic<bool> first_{false}, second_{false};
};

}  // namespace scenes
