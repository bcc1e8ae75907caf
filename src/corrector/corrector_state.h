// The corrector of this process: its parts, and what its files share. All but `state` and what says otherwise is used in
// hooks, under the lock.
#pragma once
#include <sys/syscall.h>

#include <atomic>

#include "corrector/memory/pool.h"
#include "corrector/transfers/transfers.h"
#include "corrector/waits/deferrals.h"
#include "corrector/waits/open_waits.h"
#include "corrector/waits/recorded_events.h"

namespace diogenes::corrector {

enum class State { idle, on, ending, off };  // ending: nothing more is deferred, and what was is awaited

extern CorrectorServices agent;
extern Marks marks;
extern Counts counts;
extern Deliveries deliveries;
extern Deferrals deferrals;
extern OpenWaits open_waits;
extern Pool pool;
extern RecordedEvents events;
extern Transfers transfers;
extern std::atomic<State> state;
extern bool unknown_work;                   // work was given to streams that are not known
extern bool events_are_known;               // graphs record some out of sight
extern int captures;                        // streams under capture
extern int being_given;                     // calls under way that give streams work
extern std::atomic<uint64_t> unseen_calls;  // of handlers, that gave some

// Held in hooks, for as long as the driver's own short calls take; in a signal's handler only
// behind Corrector::before_unseen, where the interrupted code holds nothing.
class Lock {
 public:
  Lock() {
    while (held_.exchange(true, std::memory_order_acquire))
      agent.system_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    holder_.store(__builtin_thread_pointer(), std::memory_order_relaxed);
  }
  ~Lock() {
    holder_.store(nullptr, std::memory_order_relaxed);
    held_.store(false, std::memory_order_release);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // By the calling thread: a handler of the program's has interrupted it, and ends the process.
  static bool held_here() { return holder_.load(std::memory_order_relaxed) == __builtin_thread_pointer(); }
  // In a forked child, where the holder does not exist.
  static void reset() {
    holder_.store(nullptr, std::memory_order_relaxed);
    held_.store(false, std::memory_order_relaxed);
  }

 private:
  static inline std::atomic<bool> held_{false};
  static inline std::atomic<void*> holder_{nullptr};
};

}  // namespace diogenes::corrector
