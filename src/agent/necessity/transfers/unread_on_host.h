// Copies to the host whose data nothing read: the destination was overwritten by the driver or released
// before any touch. In: copies to the host, what the driver is about to overwrite, read or release. Out: an
// UnusedRecord where a guard lay on the destination from the copy's return on, so that no touch can have been
// missed.
//
// The GPU writes through a guard: it may lie there while the copy is under way, and a touch before the copy
// is done counts as a use. But the agent's own look at the content, at the synchronization that covers such a
// copy, would be a touch: what is guarded in flight is not hashed. So an asynchronous copy is hashed first,
// and guarded behind that; where nobody touched it then, which proves nothing yet, the site's next copies are
// guarded in flight instead.
//
// These guards are its own, beside those of watches.h. They are for sites that go on being unused: one whose
// data is used is left alone after a few tries. Serialised by the collector's lock.
#pragma once
#include "agent/guard/guards.h"
#include "agent/necessity/order/order.h"
#include "base/range.h"
#include "trace/format.h"

namespace diogenes::agent {

class UnreadOnHost {
 public:
  enum class From : uint8_t {
    done,    // the copy has returned, and is done
    flight,  // it has returned, and may be under way
    wait,    // some time after it returned: this finds sites, and proves nothing
  };
  // Is it worth a guard? `site`: function and stack.
  bool wants(uint64_t site, From from) const;
  // True: there is a guard.
  bool copied(OperationId id, AddressRange range, uint64_t site, Slot stream, Tick tick, From from);

  // The driver is about to write, read or release these bytes; the guards on them come down. `by`: not 0.
  // Written by work that is ordered after `clock`: of two copies in no order, either may win.
  void overwritten(AddressRange range, uint32_t by, const Clock& clock);
  void read(AddressRange range);
  void released(AddressRange range, uint32_t by);
  // That call is over.
  void end(uint32_t by, bool succeeded, OperationId id);

  // Kernels reach this memory now; or it will be gone without a call that is seen.
  void forget(AddressRange range);
  // What was touched so far, and what was released without the driver.
  void collect_touches();
  void reset();

 private:
  static constexpr int kKept = 256;
  static constexpr int kSites = 512;
  static constexpr int kTries = 3;  // that a site gets in advance
  struct Entry {
    AddressRange range;
    OperationId id;
    GuardHandle guard;
    Slot stream;
    Tick tick;
    uint32_t by;  // 0: guarded; else that call closes it
    uint16_t site;
    Unused unused;  // by that call
    From from;
  };
  struct Site {
    uint64_t key;
    uint32_t used, unused, suspected;  // suspected: untouched since a wait
  };
  int site_of(uint64_t key) const;
  bool take_down(Entry& entry);
  void remove(int position, bool used);
  void close(int position, Unused unused, OperationId by);

  Entry entries_[kKept];
  int count_;
  Site sites_[kSites];
  int site_count_;
};

}  // namespace diogenes::agent
