// Copies to the host whose data nothing read: the destination was overwritten by the driver or released
// before any touch. In: copies to the host, what the driver is about to overwrite, read or release. Out: an
// UnusedRecord where a guard lay on the destination from the copy's return on, so that no touch can have been
// missed.
//
// So only copies that are done when their call returns: what happens to the others' data between the call and
// the synchronization that covers it is not seen. These guards are its own, beside those of watches.h. They
// are for sites that go on being unused: one whose data is used is left alone after a few tries. Serialised
// by the collector's lock.
#pragma once
#include "agent/guard/guards.h"
#include "agent/necessity/order.h"
#include "base/range.h"
#include "trace/format.h"

namespace diogenes::agent {

class UnreadOnHost {
 public:
  // Is it worth a guard? `site`: function and stack.
  bool wants(uint64_t site) const;
  // The copy has returned, and is done.
  void copied(OperationId id, AddressRange range, uint64_t site, Slot stream, Tick tick);

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
  };
  struct Site {
    uint64_t key;
    uint32_t used, unused;
  };
  int site_of(uint64_t key) const;
  bool take_down(Entry& entry);
  void remove(int position, bool used);

  Entry entries_[kKept];
  int count_;
  Site sites_[kSites];
  int site_count_;
};

}  // namespace diogenes::agent
