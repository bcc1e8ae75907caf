#include "analysis/necessity/frontier.h"

namespace diogenes::necessity {

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
  list_of(live).accesses.push_back(index);
  if ((live.effect || access.on_host) && !watched(live)) list_unwatched(index);
  return index;
}

Frontier::List& Frontier::list_of(const LiveAccess& live) {
  if (live.effect) return effects_;
  return live.access.memory.valid() ? memories_[live.access.memory].list : any_;
}

void Frontier::forget_if_empty(MemoryNumber memory) {
  auto at = memories_.find(memory);
  if (at != memories_.end() && at->second.list.accesses.empty() && at->second.watches.empty())
    memories_.erase(at);
}

void Frontier::remove(AccessIndex index) {
  LiveAccess& live = accesses_[index.value];
  if (!live.alive) return;
  live.alive = false;
  if (live.exposed) --exposed_;
  live.exposed = false;
  std::erase(list_of(live).accesses, index);
  if (live.access.memory.valid()) forget_if_empty(live.access.memory);
  if (live.unwatched) std::erase(unwatched_, index);
  live.unwatched = false;
  live.held.clear();
  free_.push_back(index);
}

void Frontier::list_unwatched(AccessIndex index) {
  LiveAccess& live = accesses_[index.value];
  if (live.unwatched) return;
  live.unwatched = true;
  unwatched_.push_back(index);
}

void Frontier::expose(LiveAccess& live) {
  if (!live.exposed) ++exposed_;
  live.exposed = true;
}

// Are all bytes of the access watched, by one watch or by several?
bool Frontier::watched(const LiveAccess& live) const {
  auto at = memories_.find(live.access.memory);
  if (live.effect || at == memories_.end()) return false;
  uintptr_t until = live.access.range.begin;
  for (bool grown = true; grown && until < live.access.range.end;) {
    grown = false;
    for (WatchNumber number : at->second.watches) {
      const Watch& watch = watches_.at(number);
      if (watch.read_only && live.access.writes) continue;
      if (watch.range.contains(until)) {
        until = watch.range.end;
        grown = true;
      }
    }
  }
  return until >= live.access.range.end;
}

void Frontier::watch(WatchNumber number, MemoryNumber memory, AddressRange range, bool read_only) {
  if (!memory.valid() || watches_.contains(number)) return;
  watches_[number] = {memory, range, read_only};
  Memory& place = memories_[memory];
  place.watches.push_back(number);
  for (AccessIndex index : place.list.accesses) {
    LiveAccess& live = accesses_[index.value];
    if (!live.unwatched || !live.access.range.overlaps(range) || !watched(live)) continue;
    if (live.exposed) --exposed_;
    live.exposed = false;
    live.unwatched = false;
    std::erase(unwatched_, index);
  }
}

Frontier::Watch Frontier::unwatch(WatchNumber number) {
  auto found = watches_.find(number);
  if (found == watches_.end()) return {};
  const Watch ended = found->second;
  watches_.erase(found);
  auto at = memories_.find(ended.memory);
  if (at == memories_.end()) return ended;
  std::erase(at->second.watches, number);
  for (AccessIndex index : at->second.list.accesses) {
    LiveAccess& live = accesses_[index.value];
    if (!live.access.on_host || live.unwatched || !live.access.range.overlaps(ended.range)) continue;
    if (!watched(live)) list_unwatched(index);
  }
  forget_if_empty(ended.memory);
  return ended;
}

void Frontier::release(MemoryNumber memory, AddressRange range) {
  auto at = memories_.find(memory);
  if (at == memories_.end()) return;
  std::vector<AccessIndex> gone;
  for (AccessIndex index : at->second.list.accesses) {
    if (range.contains(accesses_[index.value].access.range)) gone.push_back(index);
  }
  std::vector<WatchNumber> ended;
  for (WatchNumber number : at->second.watches) {
    if (range.contains(watches_.at(number).range)) ended.push_back(number);
  }
  for (AccessIndex index : gone) remove(index);
  for (WatchNumber number : ended) unwatch(number);
}

}  // namespace diogenes::necessity
