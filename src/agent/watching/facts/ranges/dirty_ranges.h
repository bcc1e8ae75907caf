// Host memory that GPU work was given to and that nobody has been seen to touch since, and the guards over
// it. In: ranges of work, returns of calls that wait. Out: guards (guard/), and the records of when each
// range was watched. Nothing here knows streams or clocks (docs/necessity.md, Watching):
//
//   given to work          dirty
//   a call that waits      a guard goes up over every dirty range that has none
//   touched                the guard has fallen, and the touch is recorded (guard/watch_records.h).
//                          With other threads about, it goes up again at the next such return, or when
//                          another thread goes on that slept, at most kRaises times for one piece of work;
//                          then it stands open
//   released, overwritten  gone
//
// Where work reads a range and other work writes it, it is there twice: reading it ends the guard against
// reading alone, so that a later write is still seen.
//
// While the driver or the agent itself uses a range, its guard is lowered, and raised again when that call
// returns. Serialised by the collector's lock.
#pragma once
#include "agent/watching/facts/ranges/host_range.h"
#include "agent/watching/facts/ranges/range_filter.h"
#include "agent/watching/guard/guards.h"
#include "base/range.h"
#include "trace/fact_records.h"

namespace diogenes::agent::facts {

inline constexpr int kMaximumDirty = 8192;
inline constexpr uintptr_t kParts = 4, kSmallestPart = 256 << 10, kHugePage = 2 << 20;  // of much data
inline constexpr uint8_t kRaises = 16;  // the data of one piece of work is read again and again

class DirtyRanges {
 public:
  // No room: counted, and not watched. Much that a copy brings is watched in parts: some may be for nothing.
  void add(HostRange host);

  // A call that waits returns, or another thread acquires: raises what is to be raised.
  // `threads`: the program has several.
  void raise(bool threads);

  // The driver or the agent is about to use these bytes: guards over them come down.
  void lower(AddressRange range);
  // That call returns: raises what was lowered, and what the driver's own code touched, in `range` again.
  void restore(AddressRange range);
  // It was released, or unregistered: nothing of it is dirty any more.
  void forget(AddressRange range);
  bool overlaps(AddressRange range) const;
  bool may_overlap(AddressRange range) const { return filter_.may_overlap(range); }  // no lock is needed
  bool empty() const { return count_ == 0; }

  // Looks which guards have fallen. Before raise().
  void collect(bool threads);
  void reset();

 private:
  struct Dirty {
    HostRange host;
    GuardHandle guard;  // kNoGuard: none is up
    uint8_t raises;     // for this piece of work
    bool lowered;       // for a call under way
    bool refused;       // said so already, for this piece of work
  };

  void add_part(HostRange host);
  int find(const HostRange& host) const;
  bool raise(Dirty& dirty);
  bool give_up_another(const Dirty& wanted);
  void lower(Dirty& dirty);
  void remove(int at);
  void remove_inside(AddressRange range, int but);
  bool is_down(const Dirty& dirty) const { return dirty.guard == kNoGuard && dirty.raises < kRaises; }

  RangeFilter filter_;
  Dirty dirty_[kMaximumDirty];
  int count_;
  bool down_;  // some may be without a guard, and one may go up
  uint32_t touches_seen_;
};

}  // namespace diogenes::agent::facts
