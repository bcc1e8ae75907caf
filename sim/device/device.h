// The simulated GPU: operations with dependencies, whose begin and end are computed on the clock. Nothing
// runs while the device is busy; an operation's effect on memory takes place so that it is there at its
// modelled end, and not before.
//
// Who moves time on: whichever host thread waits in the driver (help), and a device thread that sleeps until
// the next event, for programs that wait elsewhere. Large effects run outside the lock, on the device thread
// or on a host thread that has nothing else to see in the meantime. Begin and end follow from modelled times
// alone: who comes late to an operation makes it seen late, and moves no other. Every function here wants the
// device lock held, except where said.
//
// State of an operation: blocked (pending > 0) -> scheduled (an entry of the timeline at its begin, or at the
// time at which its effect must start) -> [running: polled, held by the host, or in a host function] -> ended
// (entry at its end) -> done.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "clock.h"
#include "op.h"

namespace diogenes::sim {

class Device {
 public:
  std::mutex lock;

  // Submits `op` to run after `dependencies` (null and finished ones are skipped).
  void submit(const OpPtr& op, const std::vector<OpPtr>& dependencies);
  // Ends an operation of kind by_host.
  void finish(const OpPtr& op, int64_t end_ns);
  // Does all that is due at `now`.
  void advance(int64_t now);
  // The same on a thread that waits, large effects included. Takes the lock where it is free.
  void help(int64_t now);
  // Adversarial mode (late.h): runs what these wait for, as far as that is possible now, and no more.
  void demand(const OpPtr* ops, size_t count);
  // The same for all that was submitted by then.
  void demand_all(int64_t submitted_by_ns);
  // What these and all that they wait for touch on the host.
  void host_ranges(const OpPtr* ops, size_t count, std::vector<HostRange>* ranges);
  // A thread has stopped polling: the device thread takes over. Takes the lock.
  void nobody_waits();
  // Time of the next event, for a look without the lock; 0: bytes to be moved lie there; INT64_MAX: none.
  int64_t next_event() const { return next_event_ns_.load(std::memory_order_relaxed); }

  std::atomic<int> host_waiters{0};  // threads that poll: the device thread leaves the precise work to them

 private:
  struct Entry {
    int64_t at_ns;
    uint64_t sequence;
    OpPtr op;
    bool operator>(const Entry& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : sequence > other.sequence;
    }
  };

  std::vector<OpPtr> needed_for(const OpPtr* ops, size_t count);
  bool start_late(const OpPtr& op);
  void schedule(const OpPtr& op);
  void push(int64_t at_ns, const OpPtr& op);
  void step(const OpPtr& op, int64_t now);
  void do_due(int64_t now);
  void note_next_event();
  void run_effect(const OpPtr& op);
  void run_large_effect(std::unique_lock<std::mutex>& held);
  void after_effect(const OpPtr& op, Effect result, int64_t took_ns, int64_t now);
  void complete(const OpPtr& op, int64_t end_ns);
  void fail(Op& op, CUresult error);
  void wake_for_what_is_left(int64_t now);
  void wake_device_thread(int64_t at_ns);
  void watch_for_events(int64_t until_ns) const;
  void device_thread();
  void callback_thread();
  void start_callbacks();

  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> timeline_;
  std::deque<OpPtr> large_effects_, callbacks_;
  std::vector<OpPtr> late_;  // submitted and maybe not done, oldest first
  std::condition_variable device_wake_, callback_wake_;
  std::atomic<int64_t> next_event_ns_{INT64_MAX};
  int64_t asleep_until_ns_ = 0;  // of the device thread
  int64_t last_call_ns_ = 0;     // that submitted or waited
  int64_t last_large_ns_ = 0;    // the last operation with a large effect was submitted
  int polled_for_ = 0;           // operations that are, and are not done
  uint64_t next_sequence_ = 0;
  int64_t engine_free_ns_[4] = {};
  bool device_thread_runs_ = false, callback_thread_runs_ = false;
};

// Never destroyed: programs call the driver from their last destructors.
Device& device();

using Held = std::unique_lock<std::mutex>;
// Others hold it for a microsecond or two: a thread that went to sleep for that would come back later than
// any call of a real driver.
inline Held hold_device() {
  constexpr int kSpins = 1000;
  Held held(device().lock, std::try_to_lock);
  for (int spin = 0; spin < kSpins && !held; ++spin) {
    cpu_relax();
    static_cast<void>(held.try_lock());
  }
  if (!held) held.lock();
  return held;
}

}  // namespace diogenes::sim
