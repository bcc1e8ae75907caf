#include "agent/watching/facts/ranges/dirty_ranges.h"

#include <utility>

#include "agent/core/recording/recorder.h"
#include "agent/watching/guard/watch_records.h"

namespace diogenes::agent::facts {

int DirtyRanges::find(const HostRange& host) const {
  // The latest are named again first.
  for (int i = count_; i-- > 0;)
    if (dirty_[i].host.range == host.range && dirty_[i].host.protection == host.protection) return i;
  return -1;
}

void DirtyRanges::lower(Dirty& dirty) {
  if (dirty.guard == kNoGuard) return;
  lower_guard(dirty.guard);
  dirty.guard = kNoGuard;
  down_ = true;
}

void DirtyRanges::remove(int at) {
  lower(dirty_[at]);
  filter_.remove(dirty_[at].host.range);
  dirty_[at] = dirty_[--count_];
}

// What lies wholly in what is overwritten.
void DirtyRanges::remove_inside(AddressRange range, int but) {
  for (int i = count_; i-- > 0;)
    if (i != but && range.contains(dirty_[i].host.range) &&
        dirty_[i].host.protection == Protection::no_access) {
      if (but == count_ - 1) but = i;  // the last one takes the place of the one that goes
      remove(i);
    }
}

void DirtyRanges::add(HostRange host) {
  const uint64_t bytes = std::max((host.range.size() + kParts - 1) / kParts, kSmallestPart);
  const uintptr_t unit = bytes < kHugePage ? kPageSize : kHugePage;
  const bool in_parts = host.whole && host.method == WatchMethod::pages &&
                        host.protection == Protection::no_access && host.refusal == WatchRefusal::none &&
                        count_ < kMaximumDirty / 2;
  for (uintptr_t end = host.range.end; host.range.begin < end; host.range.begin = host.range.end) {
    host.range.end = in_parts ? std::min((host.range.begin + bytes + unit - 1) & ~(unit - 1), end) : end;
    add_part(host);
  }
}

void DirtyRanges::add_part(HostRange host) {
  // There are few: one against reading serves for both.
  if (host.method == WatchMethod::watchpoints) host.protection = Protection::no_access;
  int at = find(host);
  if (host.whole && (at < 0 || host.method == WatchMethod::watchpoints)) remove_inside(host.range, at);
  down_ = true;
  if (at = find(host); at >= 0) {
    Dirty& dirty = dirty_[at];
    // A touch before this work says nothing of what it brings, and by now a stack frame may be another one.
    if (dirty.guard != kNoGuard &&
        (host.method == WatchMethod::watchpoints || agent::collect(dirty.guard).by != TouchBy::nobody))
      lower(dirty);
    dirty = {host, dirty.guard, 0, dirty.lowered, false};
    return;
  }
  if (count_ == kMaximumDirty) {
    count_drop(Drop::objects_full);
    return;
  }
  filter_.add(host.range);
  dirty_[count_++] = {host, kNoGuard, 0, false, false};
}

// Data that nobody has touched yet comes before data that somebody else may touch, too; and before what its
// own bytes held earlier (a stack frame that ended).
bool DirtyRanges::give_up_another(const Dirty& wanted) {
  if (why_no_watchpoints() != NoWatchpoints::all_taken) return false;
  for (int i = 0; i < count_; ++i) {
    Dirty& dirty = dirty_[i];
    if (&dirty == &wanted || dirty.guard == kNoGuard || dirty.host.method != WatchMethod::watchpoints)
      continue;
    if (dirty.raises <= 1 && !dirty.host.range.overlaps(wanted.host.range)) continue;
    dirty.raises = kRaises;
    lower(dirty);
    record_refusal(dirty.host.range, WatchRefusal::small);
    dirty.refused = true;
    return true;
  }
  return false;
}

bool DirtyRanges::raise(Dirty& dirty) {
  WatchRefusal refusal = dirty.host.refusal;
  if (refusal == WatchRefusal::none) {
    Watching how{dirty.host.method, dirty.host.frame, dirty.host.own_pages, next_watch()};
    Nanoseconds at = monotonic_now();
    do {
      dirty.guard = raise_guard(dirty.host.range, dirty.host.protection, how);
    } while (dirty.guard == kNoGuard && dirty.raises <= 1 && give_up_another(dirty));
    if (dirty.guard != kNoGuard) {
      record_watch(how.watch, dirty.host.range, dirty.host.protection, at);
      return true;
    }
    if (dirty.host.method == WatchMethod::pages) {
      refusal = guards_wanted() ? WatchRefusal::limit : WatchRefusal::no_guards;
      count_drop(Drop::guards_full);
    } else {
      refusal = WatchRefusal::small;
      NoWatchpoints why = why_no_watchpoints();
      if (why == NoWatchpoints::none_here) count_drop(Drop::watchpoints_missing);
      if (why == NoWatchpoints::all_taken) count_drop(Drop::watchpoints_full);
    }
  }
  if (!dirty.refused) record_refusal(dirty.host.range, refusal);
  dirty.refused = true;
  return false;
}

void DirtyRanges::raise(bool threads) {
  collect(threads);
  if (!std::exchange(down_, false)) return;
  for (int i = count_; i-- > 0;) {
    Dirty& dirty = dirty_[i];
    if (!is_down(dirty) || dirty.lowered) continue;
    ++dirty.raises;
    if (!raise(dirty)) down_ = true;
    if (dirty.guard == kNoGuard && dirty.host.refusal != WatchRefusal::none) remove(i);
  }
}

void DirtyRanges::collect(bool threads) {
  uint32_t touches = touch_count();
  if (touches == touches_seen_) return;
  touches_seen_ = touches;
  for (int i = count_; i-- > 0;) {
    Dirty& dirty = dirty_[i];
    if (dirty.guard == kNoGuard) continue;
    Touch touch = agent::collect(dirty.guard);
    if (touch.by == TouchBy::nobody) continue;
    lower(dirty);
    // What is gone is nobody's; and with one thread, the touch that was seen is the first one of all.
    bool first_of_all = !threads && (touch.by == TouchBy::program || touch.by == TouchBy::system_call);
    if (touch.by == TouchBy::gone || first_of_all)
      remove(i);
    else if (!is_down(dirty) && !dirty.refused)
      record_refusal(dirty.host.range, WatchRefusal::often), dirty.refused = true;
  }
}

void DirtyRanges::lower(AddressRange range) {
  for (int i = count_; i-- > 0;) {
    Dirty& dirty = dirty_[i];
    if (!dirty.host.range.pages().overlaps(range.pages())) continue;
    if (dirty.guard == kNoGuard || agent::collect(dirty.guard).by != TouchBy::nobody) continue;
    lower(dirty);
    dirty.lowered = true;
  }
}

void DirtyRanges::restore(AddressRange range) {
  for (int i = count_; i-- > 0;) {
    Dirty& dirty = dirty_[i];
    if (!dirty.host.range.pages().overlaps(range.pages())) continue;
    bool lowered = dirty.lowered;
    dirty.lowered = false;
    if (dirty.guard != kNoGuard) {
      Touch touch = agent::collect(dirty.guard);
      if (touch.by != TouchBy::driver) continue;
      lower(dirty);
      lowered = true;
    }
    if (!lowered || dirty.guard != kNoGuard) continue;
    if (!raise(dirty)) down_ = true;
  }
}

void DirtyRanges::forget(AddressRange range) {
  for (int i = count_; i-- > 0;)
    if (range.contains(dirty_[i].host.range)) remove(i);
}

bool DirtyRanges::overlaps(AddressRange range) const {
  return std::any_of(dirty_, dirty_ + count_, [&](auto& dirty) { return dirty.host.range.overlaps(range); });
}

void DirtyRanges::reset() {
  for (int i = 0; i < count_; ++i)
    if (dirty_[i].guard != kNoGuard) lower_guard(dirty_[i].guard);
  filter_.clear();  // a fork may have interrupted a change of it
  count_ = 0;
}

}  // namespace diogenes::agent::facts
