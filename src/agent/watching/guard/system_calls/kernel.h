// The kernel as the guards call it: system calls made from the one place that Syscall User Dispatch lets
// through (undispatched_code.cc), in the kernel's own layouts. Nothing here goes through libc, sets errno, or
// is seen by an interposer.
#pragma once
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

// undispatched_code.cc
extern "C" {
__attribute__((visibility("hidden"))) long diogenes_raw_syscall(long number, long a, long b, long c, long d,
                                                                long e, long f);
__attribute__((visibility("hidden"))) void diogenes_restorer();  // rt_sigreturn
__attribute__((visibility("hidden"))) void diogenes_call_on(uintptr_t stack, void (*function)(void*),
                                                            void* argument);
// Copies; false where a byte could not be read or written. The fault is taken by recover_copy.
__attribute__((visibility("hidden"))) bool diogenes_copy(void* to, const void* from, size_t bytes);
}

namespace diogenes::agent {

template <typename... Arguments>
inline long raw_syscall(long number, Arguments... arguments) {
  long values[6] = {(long)arguments...};
  return diogenes_raw_syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

using SignalBits = uint64_t;  // the kernel's sigset_t: bit n-1 for signal n

inline constexpr SignalBits signal_bit(int signal) { return SignalBits{1} << (signal - 1); }
// Those that the guards need: never blocked in the kernel on a guarded thread.
// What memory answers that may not be used as it was: closed, not there, behind the end of its file.
inline constexpr SignalBits kFaultSignals = signal_bit(SIGSEGV) | signal_bit(SIGBUS);
inline constexpr SignalBits kGuardSignals = kFaultSignals | signal_bit(SIGTRAP) | signal_bit(SIGSYS);
inline constexpr SignalBits kAllSignals = ~SignalBits{0};

struct KernelAction {
  uintptr_t handler = 0;  // SIG_DFL, SIG_IGN, or a function
  uint64_t flags = 0;
  uintptr_t restorer = 0;
  SignalBits mask = 0;
};
inline constexpr uint64_t kSaRestorer = 0x04000000;

inline long kernel_sigaction(int signal, const KernelAction* action, KernelAction* old) {
  return raw_syscall(SYS_rt_sigaction, signal, action, old, sizeof(SignalBits));
}

// Sets the calling thread's mask and returns what it was.
inline SignalBits kernel_sigmask(int how, SignalBits bits) {
  SignalBits old = 0;
  raw_syscall(SYS_rt_sigprocmask, how, &bits, &old, sizeof old);
  return old;
}

inline SignalBits kernel_sigmask() {
  SignalBits old = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &old, sizeof old);
  return old;
}

// The mask that sigreturn will set. The kernel's is 8 bytes; the rest of glibc's type is not in the frame.
inline SignalBits& frame_mask(ucontext_t* context) {
  return *reinterpret_cast<SignalBits*>(&context->uc_sigmask);
}

inline long kernel_mprotect(uintptr_t begin, uint64_t bytes, int protection) {
  return raw_syscall(SYS_mprotect, begin, bytes, protection);
}

inline uint32_t kernel_thread_id() { return static_cast<uint32_t>(raw_syscall(SYS_gettid)); }

// Held with all signals blocked, so that no handler on the holder's thread can ask for it again. Taken by
// handlers too. Sections are short, touch no memory of the program's, and make no call but mprotect and its
// like.
class SignalSafeLock {
 public:
  void lock() {
    for (int turn = 0; state_.exchange(1, std::memory_order_acquire) != 0; ++turn) {  // pairs with unlock()
      if (turn < 64) {
        __builtin_ia32_pause();
      } else if (turn < 128) {
        raw_syscall(SYS_sched_yield);
      } else {
        timespec pause{0, 20'000};  // also lets a holder of lower priority run
        raw_syscall(SYS_nanosleep, &pause, nullptr);
      }
    }
  }
  void unlock() { state_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t> state_{0};
};

}  // namespace diogenes::agent
