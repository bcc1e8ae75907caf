#include "analysis/necessity/judge/frontier.h"

namespace diogenes::necessity {
namespace {

constexpr size_t kFew = 32;  // so many are looked through one by one

}  // namespace

Sureness LiveAccess::held_by(ClockKey by) const {
  for (const Held& one : held) {
    if (one.by == by) return one.sureness;
  }
  return Sureness::none;
}

void LiveAccess::hold(ClockKey by, Sureness sureness) {
  for (Held& one : held) {
    if (one.by == by) {
      one.sureness = std::max(one.sureness, sureness);
      return;
    }
  }
  held.push_back({by, sureness});
}

AccessIndex Frontier::add(const Access& access, StreamNumber stream, uint32_t tick, uint32_t blind) {
  AccessIndex index;
  if (free_.empty()) {
    index.value = static_cast<uint32_t>(accesses_.size());
    accesses_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  LiveAccess& live = accesses_[index.value];
  live = LiveAccess{access, stream, tick, blind, blind != 0, true};
  List& list = list_of(live);
  live.at = static_cast<uint32_t>(list.accesses.size());
  list.accesses.push_back(index);
  if (list.index) {
    list.index->add(access.range, index);
  } else if (list.accesses.size() > kFew && access.memory.valid()) {
    list.index = std::make_unique<RangeIndex<AccessIndex>>();
    for (AccessIndex each : list.accesses) list.index->add(accesses_[each.value].access.range, each);
  }
  if ((live.effect || access.on_host) && !watched(live)) list_unwatched(index);
  return index;
}

Frontier::List& Frontier::list_of(const LiveAccess& live) {
  if (live.effect) return effects_;
  return live.access.memory.valid() ? memories_[live.access.memory].list : any_;
}

void Frontier::forget_if_empty(MemoryNumber memory) {
  const Memory* place = memories_.find(memory);
  if (place && place->list.accesses.empty() && place->watches.empty()) memories_.erase(memory);
}

void Frontier::stands_for(List& list, const LiveAccess& live) {
  for (AccessIndex index : list.accesses) {
    LiveAccess& later = accesses_[index.value];
    if (later.is_of(live.replaced_in, live.replaced) || later.is_of(live.stream, live.replaced_there))
      later.stands_for_used = true;
  }
}

void Frontier::remove(AccessIndex index) {
  LiveAccess& live = accesses_[index.value];
  if (!live.alive) return;
  live.alive = false;
  if (live.exposed) --exposed_;
  live.exposed = false;
  unlist(live);
  if (live.access.memory.valid()) forget_if_empty(live.access.memory);
  unlist_unwatched(index);
  live.held = {};
  free_.push_back(index);
}

void Frontier::list_unwatched(AccessIndex index) {
  LiveAccess& live = accesses_[index.value];
  if (live.unwatched) return;
  live.unwatched = true;
  live.at_unwatched = static_cast<uint32_t>(unwatched_.size());
  live.listed = ++listings_;
  unwatched_.push_back(index);
  fresh_.emplace_back(index, live.listed);
  if (fresh_.size() > 2 * unwatched_.size() + 64) {  // most of these are out of it again
    fresh_.clear();
    ++round_;
  }
}

void Frontier::unlist_unwatched(AccessIndex index) {
  LiveAccess& live = accesses_[index.value];
  if (!live.unwatched) return;
  live.unwatched = false;
  const AccessIndex last = unwatched_.back();
  unwatched_[live.at_unwatched] = last;
  accesses_[last.value].at_unwatched = live.at_unwatched;
  unwatched_.pop_back();
}

void Frontier::unlist(LiveAccess& live) {
  List& list = list_of(live);
  const AccessIndex index = list.accesses[live.at], last = list.accesses.back();
  if (list.index) list.index->remove(live.access.range, index);
  list.accesses[live.at] = last;
  accesses_[last.value].at = live.at;
  list.accesses.pop_back();
}

void Frontier::expose(LiveAccess& live) {
  if (!live.exposed) ++exposed_;
  live.exposed = live.used = true;
}

// Are all bytes of the access watched, by one watch or by several?
bool Frontier::watched(const LiveAccess& live) const {
  if (live.effect) return false;
  const Memory* place = memories_.find(live.access.memory);
  if (!place || place->watches.empty()) return false;
  std::vector<AddressRange> ranges;
  bool whole = live.access.range.empty();
  auto visit = [&](WatchNumber number) {
    const Watch& watch = *watches_.find(number);
    if (watch.read_only && live.access.writes) return;
    whole |= watch.range.contains(live.access.range);
    if (!whole && watch.range.overlaps(live.access.range)) ranges.push_back(watch.range);
  };
  if (place->index) {
    place->index->each_overlapping(live.access.range, visit);
  } else {
    for (WatchNumber number : place->watches) visit(number);
  }
  if (whole) return true;
  std::sort(ranges.begin(), ranges.end());
  uintptr_t until = live.access.range.begin;
  for (AddressRange range : ranges) {
    if (range.begin > until) return false;
    until = std::max(until, range.end);
  }
  return until >= live.access.range.end;
}

void Frontier::watch(WatchNumber number, MemoryNumber memory, AddressRange range, bool read_only) {
  if (!memory.valid() || watches_.contains(number)) return;
  Memory& place = memories_[memory];
  watches_[number] = {memory, range, read_only, static_cast<uint32_t>(place.watches.size())};
  place.watches.push_back(number);
  if (place.index) {
    place.index->add(range, number);
  } else if (place.watches.size() > kFew) {
    place.index = std::make_unique<RangeIndex<WatchNumber>>();
    for (WatchNumber each : place.watches) place.index->add(watches_.find(each)->range, each);
  }
  std::vector<AccessIndex> closed;
  each_overlapping(memory, range, [&](AccessIndex index) {
    const LiveAccess& live = accesses_[index.value];
    if (live.unwatched && live.access.memory.valid() && watched(live)) closed.push_back(index);
  });
  for (AccessIndex index : closed) {
    LiveAccess& live = accesses_[index.value];
    if (live.exposed) --exposed_;
    live.exposed = false;
    unlist_unwatched(index);
  }
}

Frontier::Watch Frontier::unwatch(WatchNumber number) {
  const Watch* found = watches_.find(number);
  if (!found) return {};
  const Watch ended = *found;
  Memory& place = memories_[ended.memory];
  if (place.index) place.index->remove(ended.range, number);
  const WatchNumber last = place.watches.back();
  place.watches[ended.at] = last;
  watches_.find(last)->at = ended.at;
  place.watches.pop_back();
  watches_.erase(number);
  std::vector<AccessIndex> opened;
  each_overlapping(ended.memory, ended.range, [&](AccessIndex index) {
    const LiveAccess& live = accesses_[index.value];
    if (live.access.on_host && !live.unwatched && !watched(live)) opened.push_back(index);
  });
  for (AccessIndex index : opened) list_unwatched(index);
  forget_if_empty(ended.memory);
  return ended;
}

void Frontier::release(MemoryNumber memory, AddressRange range) {
  const Memory* place = memories_.find(memory);
  if (!place) return;
  std::vector<AccessIndex> gone;
  for (AccessIndex index : place->list.accesses) {
    if (range.contains(accesses_[index.value].access.range)) gone.push_back(index);
  }
  std::vector<WatchNumber> ended;
  for (WatchNumber number : place->watches) {
    if (range.contains(watches_.find(number)->range)) ended.push_back(number);
  }
  for (AccessIndex index : gone) remove(index);
  for (WatchNumber number : ended) unwatch(number);
}

}  // namespace diogenes::necessity
