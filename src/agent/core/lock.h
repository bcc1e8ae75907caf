// The agent's own lock: held for short, bounded sections that touch none of the program's memory and call no
// driver function (README.md). Two threads of the program never wait for each other longer than such a
// section.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace diogenes::agent {

class Lock {
 public:
  void lock() {
    int expected = 0;
    // acquire pairs with the release in unlock().
    if (state_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return hold();
    for (int spin = 0; spin < 200; ++spin) {
      __builtin_ia32_pause();
      expected = 0;
      if (state_.compare_exchange_weak(expected, 1, std::memory_order_acquire)) return hold();
    }
    while (state_.exchange(2, std::memory_order_acquire) != 0)
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
    hold();
  }

  // For signal handlers: gives up after `spins`, because the thread that was interrupted may be the holder.
  bool try_lock(int spins = 1000) {
    for (int spin = 0; spin < spins; ++spin) {
      int expected = 0;
      if (state_.compare_exchange_weak(expected, 1, std::memory_order_acquire)) return hold(), true;
      __builtin_ia32_pause();
    }
    return false;
  }

  // By the calling thread: a signal handler of the program's may have interrupted the holder.
  bool held_here() const { return holder_.load(std::memory_order_relaxed) == __builtin_thread_pointer(); }

  void unlock() {
    holder_.store(nullptr, std::memory_order_relaxed);
    if (state_.exchange(0, std::memory_order_release) == 2)
      syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  // In a forked child, where the holder does not exist.
  void reset() {
    holder_.store(nullptr, std::memory_order_relaxed);
    state_.store(0, std::memory_order_relaxed);
  }

 private:
  void hold() { holder_.store(__builtin_thread_pointer(), std::memory_order_relaxed); }

  std::atomic<int> state_{0};  // 0 free, 1 held, 2 held and waited for
  std::atomic<void*> holder_{nullptr};
};

class LockGuard {
 public:
  explicit LockGuard(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace diogenes::agent
