#include "agent/proving/deferred_ranges.h"

#include "agent/core/recording/recorder.h"
#include "agent/proving/corrected_transfers.h"
#include "agent/proving/deferred_guards.h"

namespace diogenes::agent::facts {

namespace {

// Counts as what correcting takes: many pages take long, and the GPU is done by then and hides none of it.
class TakingDown {
 public:
  ~TakingDown() {
    if (begin_.count != 0) the_corrector.note_guarding((monotonic_now() - begin_).count);
  }
  void next(GuardHandle guard) {
    if (guard != kNoGuard && begin_.count == 0) begin_ = monotonic_now();
  }

 private:
  Nanoseconds begin_;  // 0: there was no guard yet
};

bool was_touched(GuardHandle guard) { return guard != kNoGuard && collect(guard).by != TouchBy::nobody; }

}  // namespace

int DeferredRanges::find(const HostRange& host) const {
  // The latest are named again first.
  for (int i = count_; i-- > 0;) {
    const HostRange& known = dirty_[i].work.host;
    if (known.range == host.range && known.protection == host.protection) return i;
  }
  return -1;
}

void DeferredRanges::lower(Dirty& dirty) {
  if (dirty.guard != kNoGuard) lower_guard(dirty.guard);
  dirty.guard = kNoGuard;
}

void DeferredRanges::remove(int at) {
  lower(dirty_[at]);
  filter_.remove(dirty_[at].work.host.range);
  dirty_[at] = dirty_[--count_];
}

void DeferredRanges::add(const GivenRange& work) {
  if (const int at = find(work.host); at >= 0) {
    Dirty& dirty = dirty_[at];
    // Touched before this work, and nobody has looked since: that says nothing of what the work brings.
    if (was_touched(dirty.guard)) lower(dirty);
    const uint32_t before = dirty.work.stream;
    dirty.work = work;
    dirty.by_kernel |= work.host.by_kernel;
    if (!dirty.covered && before != work.stream) dirty.work.stream = kNoStream;
    dirty.deferral = 0;
    dirty.covered = false;
    return;
  }
  // What lies wholly in what is overwritten.
  for (int i = count_; work.host.whole && i-- > 0;) {
    const HostRange& known = dirty_[i].work.host;
    if (work.host.range.contains(known.range) && known.protection == Protection::no_access) remove(i);
  }
  if (count_ == kMaximum) return count_drop(Drop::objects_full);
  filter_.add(work.host.range);
  dirty_[count_++] = {work, kNoGuard, 0, false, work.host.by_kernel};
}

Undeferred DeferredRanges::refusal(bool threads) const {
  if (count_ == kMaximum) return Undeferred::unguarded;  // some may have found no room
  for (int i = 0; i < count_; ++i) {
    const HostRange& host = dirty_[i].work.host;
    if (const Undeferred why = why_unguardable(host); why != Undeferred::none) return why;
    // Another thread may have to see what a kernel writes there, and answer, before that kernel ends.
    if (threads && dirty_[i].by_kernel) return Undeferred::shared;
  }
  return Undeferred::none;
}

Undeferred DeferredRanges::defer(Deferral deferral, const Coverage& coverage, bool threads) {
  if (const Undeferred why = refusal(threads); why != Undeferred::none) return why;
  for (int i = count_; i-- > 0;) {
    Dirty& dirty = dirty_[i];
    // Who touched it awaited what was deferred until then.
    if (was_touched(dirty.guard)) {
      lower(dirty);
      if (dirty.covered) {
        remove(i);  // the last one takes its place, and was looked at
        continue;
      }
    }
    if (dirty.covered) continue;
    dirty.covered = coverage.covers(dirty.work);
    if (!defer(dirty, deferral)) return dirty.covered = false, Undeferred::unguarded;
  }
  return Undeferred::none;
}

bool DeferredRanges::defer(Dirty& dirty, Deferral deferral) {
  dirty.deferral = deferral;
  // Which of the memory that they are given kernels write is not known here; what a copy behind them brought is.
  const HostRange& host = dirty.work.host;
  const bool tells = dirty.covered && !host.by_kernel;
  if (dirty.guard != kNoGuard) {
    if (defer_guard(dirty.guard, deferral, tells)) return true;
    lower(dirty);  // touched since it was asked
  }
  dirty.guard =
      raise_guard(host.range, host.protection, {host.method, host.frame, host.own_pages, 0, deferral, tells});
  return dirty.guard != kNoGuard;
}

bool DeferredRanges::has_uncovered() const {
  if (count_ == kMaximum) return true;
  for (int i = 0; i < count_; ++i)
    if (!dirty_[i].covered) return true;
  return false;
}

bool DeferredRanges::may_be_written(AddressRange range) const {
  if (count_ == kMaximum) return true;
  for (int i = 0; i < count_; ++i)
    if (dirty_[i].work.host.protection == Protection::no_access && dirty_[i].work.host.range.overlaps(range))
      return true;
  return false;
}

void DeferredRanges::forget_deferred(Deferral last) {
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

void DeferredRanges::forget_waited(const Coverage& coverage) {
  TakingDown taking_down;
  for (int i = count_; i-- > 0;) {
    // What the GPU brought may still have to be delivered there.
    const Dirty& dirty = dirty_[i];
    const bool delivered = dirty.deferral == 0 ? !dirty.work.staged : the_corrector.done(dirty.deferral);
    if (!coverage.covers(dirty.work) || !delivered) continue;
    taking_down.next(dirty.guard);
    remove(i);
  }
}

void DeferredRanges::forget(AddressRange range) {
  for (int i = count_; i-- > 0;)
    if (range.contains(dirty_[i].work.host.range)) remove(i);
}

bool DeferredRanges::overlaps(AddressRange range) const {
  for (int i = 0; i < count_; ++i)
    if (dirty_[i].work.host.range.overlaps(range)) return true;
  return false;
}

}  // namespace diogenes::agent::facts
