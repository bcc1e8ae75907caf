#include "agent/necessity/watches.h"

#include "agent/guard/watch_pieces.h"
#include "agent/recorder.h"
#include "agent/stage.h"

namespace diogenes::agent {

bool Watches::add(const Side& side, Protection protection, Slot stream, Tick tick) {
  if (run_ > 0 && side.way == Way::pages) return true;
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
  Watch& watch = watches_[count_];
  watch = {};
  watch.range = side.range;
  watch.stream = stream;
  watch.protection = protection;
  watch.way = side.way;
  watch.own_pages = side.kind == MemoryKind::pinned;
  watch.page_locked = watch.own_pages || side.kind == MemoryKind::registered;
  watch.tick = tick;
  watch.site = kNoStack;
  watch.frame = side.frame;
  watch.name = side.name ^ (protection == Protection::read_only);
  if (run_ > 0 && !is_asked_for(watch)) return true;
  ++count_;
  ++pending_;
  return true;
}

Touch Watches::lower(Watch& watch) {
  Touch touch = lower_guard(watch.guard);
  watch.guard = kNoGuard;
  small_ -= watch.parts != 0;
  watch.parts = 0;
  watch.content.kept = false;
  return touch;
}

void Watches::remove(int position) {
  Watch& watch = watches_[position];
  if (watch.guard != kNoGuard)
    lower(watch);
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
    bool later = touch.by == TouchBy::displaced && in_runs(watch);
    if (later)
      instances_->owners_hang_on(watch.stream, watch.tick, watched(watch, false));
    else
      instances_->credit_owners(watch.stream, watch.tick,
                                {reason, touch.at.count, touch.address, touch.stack});
    if (later || watch.tick > instances_->known(watch.stream)) {
      // Touched while nobody was sure of the work, or not seen in this run: the synchronization that is to
      // come may be needed just the same.
      lower(watch);
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

bool Watches::in_runs(const Watch& watch) const {
  return watch.way == Way::watchpoints && runs_ > 1 && watch_part(watch.range, 0).of <= most_parts();
}

WatchedRange Watches::watched(const Watch& watch, bool seen) const {
  WatchPart part = watch_part(watch.range, watch.part);
  uint64_t range = (watch.name ^ watch.range.size() << 8 ^ part.of) * 0x9e3779b97f4a7c15;
  return {range ^ range >> 32, watch.part, static_cast<uint8_t>(part.of),
          static_cast<uint8_t>(watch_pieces(part.range).count), seen};
}

bool Watches::is_asked_for(Watch& watch) const {
  if (!in_runs(watch)) return false;
  WatchedRange whole = watched(watch, true);
  for (uint8_t part = 0; part < whole.parts; ++part) {
    if (!part_is_planned(part_key(whole.range, part))) continue;
    watch.part = part;
    return true;
  }
  return false;
}

GuardHandle Watches::raise(Watch& watch) {
  WatchPart part{watch.range, 1};
  if (in_runs(watch)) part = watch_part(watch.range, watch.part);
  GuardHandle guard =
      raise_guard(part.range, watch.protection, {watch.way, watch.site, watch.frame, watch.own_pages});
  if (guard != kNoGuard && watch.way == Way::watchpoints) {
    watch.parts = static_cast<uint8_t>(part.of);
    ++small_;
  }
  return guard;
}

bool Watches::has_other_runs(const Watch& watch) const {
  return in_runs(watch) && why_no_watchpoints() == NoWatchpoints::all_taken;
}

uint32_t Watches::refusal(const Watch& watch) const {
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

// Where not all fit: who comes first changes from run to run.
void Watches::guard_covered(const Clock& reach, InstanceIndex instance, uint32_t site) {
  bool large_first = run_ % 2 == 0;
  if (pending_ > 1 && runs_ > 1)
    guard_covered(reach, instance, site, large_first ? Size::large : Size::small);
  guard_covered(reach, instance, site, Size::any);
}

void Watches::guard_covered(const Clock& reach, InstanceIndex instance, uint32_t site, Size size) {
  if (pending_ == 0 && small_ == 0) return;
  for (int i = count_; i-- > 0;) {
    Watch& watch = watches_[i];
    if (watch.parts != 0 && runs_ > 1 && watch.tick <= reach[watch.stream])
      instances_->hangs_on(instance, watched(watch, true));
    if (watch.guard != kNoGuard || watch.suspended_by != 0 || watch.tick > reach[watch.stream]) continue;
    if (size != Size::any &&
        (watch.way == Way::pages || (watch_part(watch.range, run_).of > 1) != (size == Size::large)))
      continue;
    watch.site = site;
    watch.guard = raise(watch);
    if (watch.guard != kNoGuard) {
      --pending_;
      if (in_runs(watch)) {
        instances_->hangs_on(instance, watched(watch, true));
        instances_->owners_hang_on(watch.stream, watch.tick, watched(watch, true));
      }
      continue;
    }
    if (has_other_runs(watch)) {
      // It hangs on whoever takes over, too.
      instances_->hangs_on(instance, watched(watch, false));
      instances_->owners_hang_on(watch.stream, watch.tick, watched(watch, false));
      continue;
    }
    uint32_t reason = refusal(watch);
    instances_->credit(instance, reason);
    instances_->credit_owners(watch.stream, watch.tick, {.reason = reason});
    if (watch.tick <= instances_->known(watch.stream)) remove(i);
  }
}

const Watches::Watch* Watches::find(AddressRange range, Slot stream, Tick tick) const {
  for (int i = count_; i-- > 0;) {
    const Watch& watch = watches_[i];
    if (watch.range == range && watch.stream == stream && watch.tick == tick &&
        watch.protection == Protection::no_access)
      return &watch;
  }
  return nullptr;
}

bool Watches::may_keep_content(AddressRange range, Slot stream, Tick tick) const {
  const Watch* watch = find(range, stream, tick);
  return watch && watch->page_locked && watch->guard == kNoGuard && watch->suspended_by == 0;
}

void Watches::keep_content(AddressRange range, Slot stream, Tick tick, const Content& content,
                           uint64_t looked) {
  if (may_keep_content(range, stream, tick))
    watches_[find(range, stream, tick) - watches_].content = {true, content, looked};
}

void Watches::use(AddressRange range, const Use& by_device, const Clock& behind, KeptContent* kept) {
  for (int i = count_; i-- > 0;) {
    Watch& watch = watches_[i];
    if (watch.guard == kNoGuard || watch.protection == Protection::read_only || !watch.range.overlaps(range))
      continue;
    Touch touch = collect(watch.guard);
    bool by_itself = watch.page_locked && watch.tick <= behind[watch.stream];
    bool known = kept && watch.range == range && watch.content.kept && watch.content.looked == kept->looked;
    if (touch.by == TouchBy::nobody && by_itself && (known || !kept)) {
      if (known) *kept = watch.content;
      continue;
    }
    if (touch.by == TouchBy::nobody) {
      instances_->credit_owners(watch.stream, watch.tick, by_device);
      touch.by = TouchBy::gone;
      if (watch.tick > instances_->known(watch.stream)) {
        lower(watch);
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
    part.parts = 0;
    part.name = whole.name ^ (piece.begin - whole.range.begin) << 32;
    part.part = 0;
    if (run_ > 0) is_asked_for(part);
    part.content.kept = false;
    if (!whole.own_pages && piece.size() < kSmallestPageable) part.way = Way::watchpoints;
    if (whole.guard != kNoGuard) {
      part.guard = raise(part);
      if (in_runs(part))
        instances_->owners_hang_on(whole.stream, whole.tick, watched(part, part.guard != kNoGuard));
      if (part.guard == kNoGuard && !has_other_runs(part)) reason = refusal(part);
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
      Touch touch = lower(watches_[i]);
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
  count_ = pending_ = suspended_ = small_ = 0;
  lost_ = false;
}

}  // namespace diogenes::agent
