// Host memory that kernels reach: managed allocations, and pinned ones whose address a kernel was given. A
// kernel may write or read any of what it reaches, so each allocation is watched as a whole: guarded once a
// synchronization covers work that may have written since its last use, until it is touched.
//
// In: kernels (any allocation, or those that they were given), copies and fills (one allocation), uses. Out:
// credits to the owners of that work. Serialised by the collector's lock.
#pragma once
#include "agent/guard/guards.h"
#include "agent/necessity/order/instances.h"
#include "base/range.h"

namespace diogenes::agent {

inline constexpr int kMaximumShared = 1024;

class SharedMemory {
 public:
  void attach(Instances* instances) { instances_ = instances; }

  // False: full. Twice the same: once. `sequence`: of the last synchronization.
  // `own_pages`: the driver mapped it.
  bool add(AddressRange range, uint32_t sequence, bool own_pages = false);
  bool empty() const { return count_ == 0; }
  bool holds_several() const { return count_ > 1; }
  bool contains(AddressRange range) const { return find(range) >= 0; }

  // Work that may write any of it.
  void note_kernel(Slot stream, Tick tick) { kernels_[stream].ticks.add(tick); }
  // Work that may write or read the allocation that holds `range`, and no other. False: there is none.
  bool note(AddressRange range, Slot stream, Tick tick);

  // A synchronization covers `stream` up to `up_to`, of which the host knew `known`. True: that may have
  // written.
  bool covered(Slot stream, Tick known, Tick up_to, bool certain, uint32_t sequence);
  void collect_touches(uint32_t sequence, int width);
  // After covered() for all streams: guards what may have been written and not been used since.
  void guard_covered(const Clock& reach, InstanceIndex instance, uint32_t sequence);
  // The same bookkeeping where the synchronization itself is not watched (stage 4).
  void advance(const Clock& certain);

  // A copy from host memory uses it: credited, and its guard comes down.
  void use(AddressRange range, const Use& by_device, uint32_t sequence, int width);
  // Before the driver releases it, and after. Not successful: it counts as used out of sight.
  void suspend(AddressRange range, uint32_t by, uint32_t sequence, int width);
  void end_suspension(uint32_t by, bool succeeded, uint32_t sequence, int width);
  void give_up_all(uint32_t sequence, int width);
  // It is no longer within kernels' reach (unregistered), but the program's data is still there: what was
  // written and is guarded by now stays watched until its use. To be called after the call's own wait was
  // accounted for.
  void retire(uint64_t begin);
  void reset();

 private:
  // The last ticks of a stream's work, the latest last.

  struct Ticks {
    static constexpr int kKept = 16;
    Tick ticks[kKept];
    uint8_t count;

    void add(Tick tick);
    // The latest up to there. Where that is older than all that are kept, it counts as there: an older one
    // may be.
    Tick latest(Tick up_to) const;
    Tick newest() const { return ticks[count - 1]; }
  };
  // One stream's work on one allocation.
  struct Work {
    Slot stream;
    Ticks ticks;
    Tick known;     // the latest of it that a certain claim covers
    Tick credited;  // used since
  };
  static constexpr int kStreams = 4;
  struct Shared {
    AddressRange range;
    GuardHandle guard;
    uint32_t seen;  // sequence of the last synchronization before its last use
    uint32_t suspended_by;
    bool own_pages;
    bool retired;
    uint8_t work_count;
    Work work[kStreams];
  };
  struct Kernels {
    Ticks ticks;        // that may have written
    Tick known;         // the latest of them that the host knows to be done
    uint32_t known_at;  // sequence of the synchronization that told it
  };

  int find(AddressRange range) const;
  void credit(Shared& shared, const Use& use, uint32_t sequence, int width);
  // What the guard saw, if anything. True: it was touched, and is down.
  bool settle(Shared& shared, const Touch& touch, uint32_t sequence, int width);
  void lower(Shared& shared, uint32_t sequence, int width);

  Instances* instances_;
  Shared shared_[kMaximumShared];
  int count_;
  uint32_t touches_seen_;  // touch_count() when each guard was last asked
  Kernels kernels_[kMaximumStreams];
  uint32_t written_at_;  // sequence of the last synchronization that covered a kernel newly
};

}  // namespace diogenes::agent
