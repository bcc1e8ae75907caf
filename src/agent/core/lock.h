// The agent's own lock: held for short, bounded sections that touch none of the program's memory and call no
// driver function (README.md). Two threads of the program never wait for each other longer than such a
// section.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace diogenes::agent {

// How many the calling thread has, or is about to have or to give back: a handler of the program's that interrupted it there
// must ask for none.
inline __attribute__((tls_model("initial-exec"))) thread_local constinit int locks_held_here = 0;

class Lock {
 public:
  void lock() {
    ++locks_held_here;
    for (int spin = 0; spin < 200; ++spin) {
      if (take()) return;
      __builtin_ia32_pause();
    }
    // acquire pairs with the release in unlock().
    for (uint32_t before; !is_free(before = state_.exchange(held() | kAwaited, std::memory_order_acquire));)
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, held() | kAwaited, nullptr, nullptr, 0);
  }

  // For signal handlers: gives up after `spins`, because the thread that was interrupted may be the holder.
  bool try_lock(int spins = 1000) {
    ++locks_held_here;
    for (int spin = 0; spin < spins; ++spin) {
      if (take()) return true;
      __builtin_ia32_pause();
    }
    --locks_held_here;
    return false;
  }

  // For calls that must end though the holder has stopped: a collector of garbage suspends threads where they are. Some 100 ms.
  bool try_lock_long() {
    for (int nap = 0; nap < 500; ++nap) {
      if (try_lock()) return true;
      timespec pause{0, 100'000};
      syscall(SYS_nanosleep, &pause, nullptr);
    }
    return false;
  }

  void unlock() {
    if (state_.exchange(0, std::memory_order_release) & kAwaited)
      syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    --locks_held_here;
  }

  // This is a forked child: what other threads held when it was made is free.
  static void free_all_in_child() { process_.fetch_add(kNextProcess, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kAwaited = 1, kNextProcess = 2;

  static uint32_t held() { return process_.load(std::memory_order_relaxed); }
  static bool is_free(uint32_t state) { return (state & ~kAwaited) != held(); }

  bool take() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    return is_free(state) && state_.compare_exchange_strong(state, held(), std::memory_order_acquire);
  }

  static inline std::atomic<uint32_t> process_{kNextProcess};  // of the generations of forked ones
  std::atomic<uint32_t> state_{0};  // held: process_ at that time, and whether somebody waits for it
};

// Taken already.
struct Taken {};

class LockGuard {
 public:
  explicit LockGuard(Lock& lock) : lock_(lock) { lock_.lock(); }
  LockGuard(Lock& lock, Taken) : lock_(lock) {}
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace diogenes::agent
