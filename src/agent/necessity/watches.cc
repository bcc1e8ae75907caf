#include "agent/necessity/watches.h"

#include "agent/recorder.h"

namespace diogenes::agent {

bool Watches::add(const Side& side, Protection protection, Slot stream, Tick tick) {
  if (protection == Protection::read_only) {
    // Read again in the same stream: whoever makes sure of the later read makes sure of the earlier one.
    for (int i = count_; i-- > 0;) {
      Watch& watch = watches_[i];
      if (watch.range != side.range || watch.protection != protection || watch.stream != stream ||
          watch.suspended_by != 0)
        continue;
      // A touch up to now is the earlier read's, and its owner's.
      if (watch.guard != kNoGuard) {
        Touch touch = collect(watch.guard);
        if (touch.by != TouchBy::nobody && settle(i, touch)) continue;
      }
      watch.tick = tick;
      return true;
    }
  }
  if (count_ == kMaximumWatches) {
    count_drop(Drop::objects_full);
    lost_ = true;
    return false;
  }
  watches_[count_++] = {side.range, kNoGuard, stream, protection, side.way, side.kind == MemoryKind::pinned,
                        tick,       kNoStack, 0,      side.frame};
  ++pending_;
  return true;
}

void Watches::remove(int position) {
  Watch& watch = watches_[position];
  if (watch.guard != kNoGuard)
    lower_guard(watch.guard);
  else if (watch.suspended_by == 0)
    --pending_;
  else
    --suspended_;
  watch = watches_[--count_];
}

// True: the watch is gone. Only for guarded ones.
bool Watches::settle(int position, const Touch& touch) {
  Watch& watch = watches_[position];
  uint32_t reason = reason_of(touch, watch.protection);
  if (reason != 0) {
    instances_->credit_owners(watch.stream, watch.tick, {reason, touch.at.count, touch.address, touch.stack});
    if (watch.tick > instances_->known(watch.stream)) {
      // Touched while nobody was sure of the work: the synchronization that is to come may be needed just the
      // same.
      lower_guard(watch.guard);
      watch.guard = kNoGuard;
      ++pending_;
      return false;
    }
  }
  remove(position);
  return true;
}

void Watches::collect_touches() {
  uint32_t touches = touch_count();
  if (touches == touches_seen_) return;
  touches_seen_ = touches;
  for (int i = count_; i-- > 0;) {
    if (watches_[i].guard == kNoGuard) continue;
    Touch touch = collect(watches_[i].guard);
    if (touch.by != TouchBy::nobody) settle(i, touch);
  }
}

GuardHandle Watches::raise(const Watch& watch) {
  return raise_guard(watch.range, watch.protection, {watch.way, watch.site, watch.frame});
}

uint32_t Watches::refusal(const Watch& watch) {
  if (watch.way == Way::pages) {
    count_drop(Drop::guards_full);
    return kGuardRefused;
  }
  switch (why_no_watchpoints()) {
    case NoWatchpoints::not_now:
      count_drop(Drop::guards_full);
      return kGuardRefused;
    case NoWatchpoints::does_not_fit:
      break;
    case NoWatchpoints::none_here:
      count_drop(Drop::watchpoints_missing);
      break;
    case NoWatchpoints::all_taken:
      count_drop(Drop::watchpoints_full);
      break;
  }
  return kSmallRange;
}

void Watches::guard_covered(const Clock& reach, InstanceIndex instance, uint32_t site) {
  if (pending_ == 0) return;
  for (int i = count_; i-- > 0;) {
    Watch& watch = watches_[i];
    if (watch.guard != kNoGuard || watch.suspended_by != 0 || watch.tick > reach[watch.stream]) continue;
    watch.site = site;
    watch.guard = raise(watch);
    if (watch.guard != kNoGuard) {
      --pending_;
      continue;
    }
    uint32_t reason = refusal(watch);
    instances_->credit(instance, reason);
    instances_->credit_owners(watch.stream, watch.tick, {.reason = reason});
    if (watch.tick <= instances_->known(watch.stream)) remove(i);
  }
}

void Watches::use(AddressRange range, const Use& by_device) {
  for (int i = count_; i-- > 0;) {
    Watch& watch = watches_[i];
    if (watch.guard == kNoGuard || watch.protection == Protection::read_only || !watch.range.overlaps(range))
      continue;
    Touch touch = collect(watch.guard);
    if (touch.by == TouchBy::nobody) {
      instances_->credit_owners(watch.stream, watch.tick, by_device);
      touch.by = TouchBy::gone;
      if (watch.tick > instances_->known(watch.stream)) {
        lower_guard(watch.guard);
        watch.guard = kNoGuard;
        ++pending_;
        continue;
      }
    }
    settle(i, touch);
  }
}

// `piece` of `whole` is not overwritten: it goes on being watched. Its guard is up before the whole's comes
// down.
void Watches::keep_piece(const Watch& whole, AddressRange piece) {
  if (piece.empty()) return;
  bool known = whole.tick <= instances_->known(whole.stream);
  uint32_t reason = 0;
  if (count_ == kMaximumWatches) {
    count_drop(Drop::objects_full);
    reason = kUndecoded;
  } else {
    Watch& part = watches_[count_];
    part = whole;
    part.range = piece;
    part.suspended_by = 0;
    if (!whole.own_pages && piece.size() < kSmallestPageable) part.way = Way::watchpoints;
    if (whole.guard != kNoGuard) {
      part.guard = raise(part);
      if (part.guard == kNoGuard) reason = refusal(part);
    }
    if (reason == 0) {
      if (part.guard == kNoGuard) ++pending_;
      ++count_;
    }
  }
  if (reason == 0) return;
  instances_->credit_owners(whole.stream, whole.tick, {.reason = reason});
  if (!known) unwatchable_->note(whole.stream, whole.tick, reason);
}

void Watches::suspend(AddressRange range, bool released, uint32_t by) {
  for (int i = count_; i-- > 0;) {
    if (watches_[i].protection == Protection::read_only && !released) continue;
    if (watches_[i].suspended_by != 0 || !watches_[i].range.overlaps(range)) continue;
    if (watches_[i].guard != kNoGuard) {
      Touch touch = collect(watches_[i].guard);
      if (touch.by != TouchBy::nobody && settle(i, touch)) continue;
    }
    Watch whole = watches_[i];
    AddressRange inside = whole.range.intersection(range);
    keep_piece(whole, {whole.range.begin, inside.begin});
    keep_piece(whole, {inside.end, whole.range.end});
    if (whole.guard != kNoGuard) {
      // The last word: a touch up to now counts.
      Touch touch = lower_guard(whole.guard);
      watches_[i].guard = kNoGuard;
      uint32_t reason = reason_of(touch, whole.protection);
      if (reason != 0)
        instances_->credit_owners(whole.stream, whole.tick,
                                  {reason, touch.at.count, touch.address, touch.stack});
    } else {
      --pending_;
    }
    watches_[i].range = inside;
    watches_[i].suspended_by = by;
    ++suspended_;
  }
}

void Watches::end_suspension(uint32_t by, bool succeeded) {
  if (suspended_ == 0) return;
  for (int i = count_; i-- > 0;) {
    Watch& watch = watches_[i];
    if (watch.suspended_by != by) continue;
    if (!succeeded) {
      instances_->credit_owners(watch.stream, watch.tick, {.reason = kExposed});
      if (watch.tick > instances_->known(watch.stream)) {
        watch.suspended_by = 0;
        --suspended_;
        ++pending_;
        continue;
      }
    }
    remove(i);
  }
}

void Watches::give_up_all() {
  collect_touches();
  for (int i = count_; i-- > 0;) {
    instances_->credit_owners(watches_[i].stream, watches_[i].tick, {.reason = kExposed});
    unwatchable_->note(watches_[i].stream, watches_[i].tick, kExposed);
    remove(i);
  }
}

bool Watches::in_flight(AddressRange range) const {
  if (lost_) return true;
  for (int i = 0; i < count_; ++i) {
    const Watch& watch = watches_[i];
    if (watch.protection == Protection::no_access && watch.tick > instances_->known(watch.stream) &&
        watch.range.overlaps(range))
      return true;
  }
  return false;
}

bool Watches::in_use(AddressRange range) const {
  for (int i = 0; i < count_; ++i)
    if (watches_[i].tick > instances_->known(watches_[i].stream) && watches_[i].range.overlaps(range))
      return true;
  return false;
}

void Watches::reset() {
  for (int i = 0; i < count_; ++i)
    if (watches_[i].guard != kNoGuard) lower_guard(watches_[i].guard);
  count_ = pending_ = suspended_ = 0;
  lost_ = false;
}

}  // namespace diogenes::agent
