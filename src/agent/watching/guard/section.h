// The lock of the table of guards, and what it holds beside them.
#pragma once
#include <atomic>
#include <cstdint>

#include "agent/watching/guard/range_set.h"
#include "agent/watching/guard/system_calls/kernel.h"
#include "base/range.h"

namespace diogenes::agent {

// Zero in a forked child: the kernel wipes this page there. So the child is not active, holds no lock, and
// has no guards.
struct alignas(kPageSize) WipedOnFork {
  std::atomic<uint32_t> live{0};     // live guards
  std::atomic<uint32_t> active{0};   // handlers are installed and threads are dispatched
  std::atomic<uint32_t> version{0};  // of the index of live guards; odd while it changes
  std::atomic<uint32_t> watched{0};  // of the live ones: by watchpoints
  std::atomic<uint32_t> forking{0};  // threads between the system call that forks and their next step
  SignalSafeLock table;
  SignalSafeLock signals;
};
inline WipedOnFork wiped;

inline bool guards_active() { return wiped.active.load(std::memory_order_acquire) != 0; }

// Of the calling thread (threads.cc). While all signals are blocked, a system call of libc's that is
// dispatched would end the program: a file that grows, a lock that is waited for.
void allow_system_calls();
void dispatch_again();

// Holds the table. Signals are blocked inside; a handler, where they already are, says so.
class Section {
 public:
  enum Where { outside, in_handler };
  explicit Section(Where where) : where_(where) { hold(); }
  // ... when all that guards over these pages were deferred for is done: whatever opens pages awaits that first.
  Section(Where where, AddressRange awaited);
  ~Section() { let_go(); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  void hold() {
    if (where_ == outside) {
      mask_ = kernel_sigmask(SIG_SETMASK, kAllSignals);
      allow_system_calls();
    }
    wiped.table.lock();
  }
  void let_go() {
    wiped.table.unlock();
    if (where_ == outside) {
      dispatch_again();
      kernel_sigmask(SIG_SETMASK, mask_);
    }
  }
  Where where_;
  SignalBits mask_ = 0;
};

// Pages that no guard may close, all under the lock: the program took rights from them, or gave them that of executing, and
// would get others back; stacks of threads that have ended; stacks of coroutines.
inline constinit RangeSet other_rights, coroutine_stacks;

}  // namespace diogenes::agent
