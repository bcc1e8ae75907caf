// The part of DirtyRanges that is used where waits are corrected.
#include "agent/watching/corrected_waits.h"
#include "agent/watching/facts/content/corrected_transfers.h"
#include "agent/watching/facts/ranges/dirty_ranges.h"
#include "trace/format.h"

namespace diogenes::agent::facts {

namespace {

// Counts as what correcting takes: many pages take long, and the GPU is done by then and hides none of it.
class TakingDown {
 public:
  ~TakingDown() {
    if (begin_.count != 0) corrector->note_guarding((monotonic_now() - begin_).count);
  }
  void next(GuardHandle guard) {
    if (guard != kNoGuard && begin_.count == 0) begin_ = monotonic_now();
  }

 private:
  Nanoseconds begin_;  // 0: there was no guard yet
};

}  // namespace

Undeferred DirtyRanges::refusal(bool threads) const {
  if (count_ == kMaximumDirty) return Undeferred::unguarded;  // some may have found no room
  for (int i = 0; i < count_; ++i) {
    const HostRange& host = dirty_[i].host;
    if (const Undeferred why = why_unguardable(host); why != Undeferred::none) return why;
    // Another thread may have to see what a kernel writes there, and answer, before that kernel ends.
    if (threads && host.by_kernel) return Undeferred::shared;
  }
  return Undeferred::none;
}

Undeferred DirtyRanges::defer(Deferral deferral, const Coverage& coverage, bool threads) {
  if (const Undeferred why = refusal(threads); why != Undeferred::none) return why;
  for (int i = count_; i-- > 0;) {
    Dirty& dirty = dirty_[i];
    // Who touched it awaited what was deferred until then.
    if (was_touched(dirty)) {
      lower(dirty);
      if (dirty.covered) {
        remove(i);  // the last one takes its place, and was looked at
        continue;
      }
    }
    if (dirty.covered) continue;
    dirty.covered = coverage.covers(dirty.host);
    if (!defer(dirty, deferral)) return dirty.covered = false, Undeferred::unguarded;
  }
  return Undeferred::none;
}

bool DirtyRanges::defer(Dirty& dirty, Deferral deferral) {
  dirty.deferral = deferral;
  // Which of the memory that they are given kernels write is not known here.
  const bool tells = dirty.covered && !dirty.host.by_kernel;
  if (dirty.guard != kNoGuard) {
    if (defer_guard(dirty.guard, deferral, tells)) return true;
    lower(dirty);  // touched since it was asked
  }
  if (is_down(dirty)) --down_;
  dirty.guard = raise_guard(dirty.watched, dirty.host.protection,
                            {dirty.host.method, dirty.host.frame, dirty.host.own_pages, 0, deferral, tells});
  if (is_down(dirty)) ++down_;
  return dirty.guard != kNoGuard;
}

bool DirtyRanges::has_uncovered() const {
  if (count_ == kMaximumDirty) return true;
  for (int i = 0; i < count_; ++i)
    if (!dirty_[i].covered) return true;
  return false;
}

bool DirtyRanges::may_be_written(AddressRange range) const {
  if (count_ == kMaximumDirty) return true;
  for (int i = 0; i < count_; ++i)
    if (dirty_[i].host.protection == Protection::no_access && dirty_[i].host.range.overlaps(range))
      return true;
  return false;
}

void DirtyRanges::forget_deferred(Deferral last) {
  TakingDown taking_down;
  for (int i = count_; i-- > 0;) {
    Dirty& dirty = dirty_[i];
    if (dirty.deferral == 0 || dirty.deferral > last) continue;
    taking_down.next(dirty.guard);
    if (dirty.covered) {
      remove(i);
    } else {
      lower(dirty);
      dirty.deferral = 0;
    }
  }
}

void DirtyRanges::forget_waited(const Coverage& coverage) {
  TakingDown taking_down;
  for (int i = count_; i-- > 0;) {
    // What the GPU brought may still have to be delivered there.
    const Dirty& dirty = dirty_[i];
    const bool delivered = dirty.deferral == 0 ? !dirty.host.staged : corrector->done(dirty.deferral);
    if (!coverage.covers(dirty.host) || !delivered) continue;
    taking_down.next(dirty.guard);
    remove(i);
  }
}

}  // namespace diogenes::agent::facts
