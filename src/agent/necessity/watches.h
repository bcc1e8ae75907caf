// Ranges of host memory that GPU work writes (destinations of copies to the host) or reads (sources of copies
// from it), each with the guard that sees its first use once a synchronization covers the work.
//
//   pending --covered--> guarded --touched--> gone, its owner credited
//      |                    |---overwritten, released--> gone, unused
//      |---overwritten, released--> gone
//
// While the driver overwrites or releases a range it is suspended: its guard is down; the call's result
// decides. In: work and touches. Out: credits to the owners (instances.h). Serialised by the collector's
// lock.
#pragma once
#include "agent/guard/guards.h"
#include "agent/guard/watch_pieces.h"
#include "agent/necessity/effect.h"
#include "agent/necessity/order/instances.h"
#include "agent/necessity/order/unwatchable.h"
#include "agent/necessity/transfers/content.h"
#include "base/range.h"

namespace diogenes::agent {

// What lies in memory that nobody touched since.
struct KeptContent {
  bool kept = false;
  Content content;
  uint64_t looked = 0;  // it holds no address in AddressBounds of so many bytes()
};

inline constexpr int kMaximumWatches = 8192;

// Pageable and registered memory is guarded by its pages from one on: smaller ranges share theirs with the
// rest of the heap, and are guarded by watchpoints.
inline constexpr uint64_t kSmallestPageable = kPageSize;

class Watches {
 public:
  // Small ranges that need more watchpoints than there are: the run number `run` of up to `runs` watches one
  // part of each, behind the first run of those in the plan.
  void attach(Instances* instances, UnwatchableWork* unwatchable, uint32_t run = 0, uint32_t runs = 1) {
    instances_ = instances;
    unwatchable_ = unwatchable;
    run_ = run;
    runs_ = runs;
  }

  // The work at `tick` of `stream` writes (no_access) or reads (read_only) `side`. False: no room.
  bool add(const Side& side, Protection protection, Slot stream, Tick tick);

  // Credits the owners of what was touched so far. Before any synchronization takes over.
  void collect_touches();
  // Guards what `reach` covers and nobody guards yet. Where that is refused, `instance` counts as needed.
  // `site`: the synchronization's stack.
  void guard_covered(const Clock& reach, InstanceIndex instance, uint32_t site);

  // A copy from host memory, ordered after `behind`, uses it. What the GPU wrote itself and fetches back in
  // its own order needs nobody's wait, and its guard stays up: the driver's code may still touch it. So must
  // the agent not; `kept` (null: it need not know) is for what lies there, and without that the guard goes.
  void use(AddressRange range, const Use& by_device, const Clock& behind, KeptContent* kept);
  // What the work at `tick` of `stream` wrote to page-locked memory, read before a guard was raised.
  // `looked`: as in KeptContent.
  bool may_keep_content(AddressRange range, Slot stream, Tick tick) const;
  void keep_content(AddressRange range, Slot stream, Tick tick, const Content& content, uint64_t looked);
  // The driver is about to overwrite these bytes, or to release them: parts beside them stay watched. `by`:
  // not 0. Sources that are overwritten by the GPU stay watched: it is the CPU that must not write them.
  void suspend(AddressRange range, bool released, uint32_t by);
  // The call is over. Not successful: the data is still there, and was out of sight.
  void end_suspension(uint32_t by, bool succeeded);
  // The memory may be gone or not: whoever owns it counts as needed.
  void give_up_all();

  // May some work that is not known to be done still write here?
  bool in_flight(AddressRange range) const;
  // ... or read it? Of what is known here: false where it cannot be told.
  bool in_use(AddressRange range) const;
  bool empty() const { return count_ == 0; }
  void reset();

 private:
  struct Watch {
    AddressRange range;
    GuardHandle guard;  // kNoGuard: pending
    Slot stream;
    Protection protection;
    Way way;
    bool own_pages;  // pinned: pieces of less than a page may be guarded by it, too
    bool page_locked;
    Tick tick;
    uint32_t site;
    uint32_t suspended_by;  // 0: not
    uint8_t part, parts;    // by watchpoints: guarded in one of so many; 0: not
    uint64_t name;          // as Side's
    FrameMarks frame;
    KeptContent content;
  };

  const Watch* find(AddressRange range, Slot stream, Tick tick) const;
  // kNoGuard: refused, for the Reason that `refusal` says, and counts.
  GuardHandle raise(Watch& watch);
  uint32_t refusal(const Watch& watch) const;
  uint32_t most_parts() const { return runs_ < kMostParts ? runs_ : kMostParts; }
  bool in_runs(const Watch& watch) const;  // it can be watched in one of several
  // Which part of it a further run watches. False: nothing, it is not in the plan.
  bool is_asked_for(Watch& watch) const;
  WatchedRange watched(const Watch& watch, bool seen) const;
  // raise() refused it: not for good.
  bool has_other_runs(const Watch& watch) const;

  // Ranges for watchpoints: one part, or more.
  enum class Size : uint8_t { any, small, large };
  void guard_covered(const Clock& reach, InstanceIndex instance, uint32_t site, Size size);

  bool settle(int position, const Touch& touch);
  Touch lower(Watch& watch);
  void remove(int position);
  void keep_piece(const Watch& whole, AddressRange piece);

  Instances* instances_;
  UnwatchableWork* unwatchable_;
  Watch watches_[kMaximumWatches];
  uint32_t touches_seen_;  // touch_count() when each guard was last asked
  int count_;
  int pending_;  // unguarded and not suspended
  int suspended_;
  int small_;  // guarded by watchpoints
  uint32_t run_, runs_;
  bool lost_;  // there was no room once: what is in flight is not known any more
};

}  // namespace diogenes::agent
