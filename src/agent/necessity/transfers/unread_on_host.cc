#include "agent/necessity/transfers/unread_on_host.h"

#include "agent/necessity/transfers/unread.h"

namespace diogenes::agent {

int UnreadOnHost::site_of(uint64_t key) const {
  for (int i = 0; i < site_count_; ++i)
    if (sites_[i].key == key) return i;
  return -1;
}

bool UnreadOnHost::wants(uint64_t site, From from) const {
  if (count_ == kKept) return false;
  int known = site_of(site);
  if (known < 0) return site_count_ < kSites && from != From::flight;
  const Site& its = sites_[known];
  return its.used < its.unused + its.suspected + (from == From::flight ? 0 : kTries);
}

bool UnreadOnHost::copied(OperationId id, AddressRange range, uint64_t site, Slot stream, Tick tick,
                          From from) {
  if (!wants(site, from)) return false;
  int known = site_of(site);
  if (known < 0) {
    known = site_count_++;
    sites_[known] = {site, 0, 0, 0};
  }
  GuardHandle guard = raise_guard(range, Protection::no_access);
  if (guard == kNoGuard) return false;
  entries_[count_++] = {range, id, guard, stream, tick, 0, static_cast<uint16_t>(known), Unused::no, from};
  return true;
}

// Nobody touched it.
void UnreadOnHost::close(int position, Unused unused, OperationId by) {
  Entry& entry = entries_[position];
  Site& site = sites_[entry.site];
  if (entry.from == From::wait) {
    ++site.suspected;
  } else {
    append_unused(entry.id, unused, entry.range, by);
    ++site.unused;
  }
  remove(position, false);
}

void UnreadOnHost::remove(int position, bool used) {
  Entry& entry = entries_[position];
  if (entry.guard != kNoGuard) lower_guard(entry.guard);
  if (used) ++sites_[entry.site].used;
  entry = entries_[--count_];
}

// The last word of its guard. True: nobody was there.
bool UnreadOnHost::take_down(Entry& entry) {
  TouchBy by = lower_guard(entry.guard).by;
  entry.guard = kNoGuard;
  return by == TouchBy::nobody;
}

void UnreadOnHost::overwritten(AddressRange range, uint32_t by, const Clock& clock) {
  for (int i = count_; i-- > 0;) {
    Entry& entry = entries_[i];
    if (entry.by != 0 || !entry.range.overlaps(range)) continue;
    if (!take_down(entry) || !range.contains(entry.range) || entry.tick > clock[entry.stream]) {
      remove(i, true);
      continue;
    }
    entry.by = by;
    entry.unused = Unused::overwritten;
  }
}

void UnreadOnHost::read(AddressRange range) {
  for (int i = count_; i-- > 0;)
    if (entries_[i].by == 0 && entries_[i].range.overlaps(range)) remove(i, true);
}

void UnreadOnHost::released(AddressRange range, uint32_t by) {
  for (int i = count_; i-- > 0;) {
    Entry& entry = entries_[i];
    if (entry.by != 0 || !entry.range.overlaps(range)) continue;
    if (!take_down(entry) || !range.contains(entry.range)) {
      remove(i, true);
      continue;
    }
    entry.by = by;
    entry.unused = Unused::released;
  }
}

void UnreadOnHost::end(uint32_t by, bool succeeded, OperationId id) {
  for (int i = count_; i-- > 0;) {
    Entry& entry = entries_[i];
    if (entry.by != by) continue;
    if (succeeded)
      close(i, entry.unused, id);
    else
      remove(i, true);
  }
}

void UnreadOnHost::forget(AddressRange range) {
  for (int i = count_; i-- > 0;)
    if (entries_[i].range.overlaps(range)) remove(i, true);
}

void UnreadOnHost::collect_touches() {
  for (int i = count_; i-- > 0;) {
    Entry& entry = entries_[i];
    if (entry.by != 0) continue;
    TouchBy by = collect(entry.guard).by;
    if (by == TouchBy::nobody) continue;
    if (by == TouchBy::gone)
      close(i, Unused::released, {});
    else
      remove(i, true);
  }
}

void UnreadOnHost::reset() {
  for (int i = count_; i-- > 0;) remove(i, false);
  site_count_ = 0;
}

}  // namespace diogenes::agent
