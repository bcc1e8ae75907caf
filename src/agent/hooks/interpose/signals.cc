// Signal masks and alternate stacks of threads whose system calls are not dispatched yet: before guards
// exist. From then on the dispatcher sees every such call, libc's inner ones too, and these pass straight
// through.
//
// A mask that blocks a signal which the guards will need cannot be opened by another thread later, so that
// part of it is kept back from the start (GuardThread::hidden_mask).
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <cstring>

#include "agent/hooks/interpose/next.h"
#include "agent/watching/guard/guard_table.h"
#include "agent/watching/guard/system_calls/kernel.h"
#include "agent/watching/guard/threads/threads.h"

namespace {

using namespace diogenes::agent;

using SetMask = int(int, const sigset_t*, sigset_t*);
Next<SetMask> next_pthread_sigmask("pthread_sigmask");
Next<SetMask> next_sigprocmask("sigprocmask");
Next<int(const stack_t*, stack_t*)> next_sigaltstack("sigaltstack");

// Threads of the driver never are, and must not block those signals either: memory of theirs can lie on a
// guarded page of the heap, and a fault whose signal is blocked kills the process.
bool waits_to_be_watched() {
  Slot* slot = guard_thread.slot;
  if (!slot) return guard_thread.driver;
  return !slot->watched.load(std::memory_order_relaxed);
}

SignalBits bits_of(const sigset_t& set) {
  SignalBits bits;
  memcpy(&bits, &set, sizeof bits);
  return bits;
}

void put_bits(sigset_t& set, SignalBits bits) { memcpy(&set, &bits, sizeof bits); }

int set_mask(SetMask* next, int how, const sigset_t* set, sigset_t* old) {
  if (!waits_to_be_watched()) return next(how, set, old);
  SignalBits& hidden = guard_thread.hidden_mask;
  SignalBits before = hidden, after = hidden;
  sigset_t stripped;
  if (set) {
    SignalBits bits = bits_of(*set);
    stripped = *set;
    switch (how) {
      case SIG_BLOCK:
        after |= bits & kGuardSignals;
        break;
      case SIG_UNBLOCK:
        after &= ~bits;
        break;
      case SIG_SETMASK:
        after = bits & kGuardSignals;
        break;
      default:
        break;
    }
    if (how != SIG_UNBLOCK) put_bits(stripped, bits & ~kGuardSignals);
  }
  sigset_t was;
  int result = next(how, set ? &stripped : nullptr, &was);
  if (result != 0) return result;
  if (old) {
    *old = was;
    put_bits(*old, bits_of(was) | before);
  }
  hidden = after;
  return 0;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  auto* next = next_pthread_sigmask.get();
  return next ? set_mask(next, how, set, old) : ENOSYS;
}

EXPORTED int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  if (auto* next = next_sigprocmask.get()) return set_mask(next, how, set, old);
  errno = ENOSYS;
  return -1;
}

EXPORTED int sigaltstack(const stack_t* stack, stack_t* old) noexcept {
  auto* next = next_sigaltstack.get();
  if (!next) {
    errno = ENOSYS;
    return -1;
  }
  int result = next(stack, old);
  if (result == 0 && stack && guard_thread.slot && waits_to_be_watched())
    set_alternate_stack(*guard_thread.slot, *stack);
  return result;
}
