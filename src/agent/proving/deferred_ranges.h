// Host memory that GPU work was given to, and the guards over it that stand for deferred waits. In: ranges of work, waits that
// are deferred, made, or done. Serialised by the collector's lock.
#pragma once
#include "agent/watching/facts/ranges/host_range.h"
#include "agent/watching/facts/ranges/range_filter.h"
#include "agent/watching/guard/guards.h"
#include "trace/corrector_services.h"
#include "trace/format.h"

namespace diogenes::agent::facts {

// Host memory as one piece of work was given it.
struct GivenRange {
  HostRange host;
  uint64_t given = 0;           // work is counted: the latest that has this range
  uint32_t stream = kNoStream;  // in which the work is, as in OperationRecord; kNoStream: in several
  bool staged = false;          // the bytes come later (trace/corrector_services.h)
};

// Work that a wait surely waits for: it may wait for more (by events between streams).
struct Coverage {
  bool all = false;
  uint32_t stream = kNoStream;
  uint64_t given = ~uint64_t{0};  // the work that was given until the wait began (GivenRange::given)
  bool covers(const GivenRange& range) const {
    return range.given <= given && (all || (stream != kNoStream && range.stream == stream));
  }
};

class DeferredRanges {
 public:
  void add(const GivenRange& work);
  // A wait is deferred: every range that work was given to since gets a guard that awaits it, and so does every range that no
  // wait surely covered. What keeps it from that is said; the guards that are up may stay. `threads`: the program has several.
  Undeferred defer(Deferral deferral, const Coverage& coverage, bool threads);
  Undeferred refusal(bool threads) const;  // what would keep it from that, as far as it is known before
  bool has_uncovered() const;
  bool may_be_written(AddressRange range) const;  // by work that is not known to be done
  // What was deferred up to here is done; what was given to work since is dirty still.
  void forget_deferred(Deferral last);
  // A call has waited.
  void forget_waited(const Coverage& coverage);
  // It was released, or unregistered.
  void forget(AddressRange range);
  bool overlaps(AddressRange range) const;
  bool may_overlap(AddressRange range) const { return filter_.may_overlap(range); }  // no lock is needed
  bool empty() const { return count_ == 0; }

 private:
  static constexpr int kMaximum = 8192;
  struct Dirty {
    GivenRange work;    // the latest
    GuardHandle guard;  // kNoGuard: none is up
    Deferral deferral;  // of the last wait since, which may cover it; 0: none yet
    bool covered;       // it does
    bool by_kernel;     // some of the work is a kernel
  };

  int find(const HostRange& host) const;
  bool defer(Dirty& dirty, Deferral deferral);
  void lower(Dirty& dirty);
  void remove(int at);

  RangeFilter filter_;
  Dirty dirty_[kMaximum];
  int count_;
};

}  // namespace diogenes::agent::facts
