#include "agent/necessity/order/named_memory.h"

#include <algorithm>

namespace diogenes::agent {

namespace {
constexpr int kFirst = kVariables + 1;
}

void Named::add(Name name, bool written) {
  if (name == kNoName) return;
  for (int i = 0; i < count; ++i)
    if (names[i] == name) {
      writes[i] |= written;
      return;
    }
  if (count == kMaximum) {
    anything = true;
    return;
  }
  names[count] = name;
  writes[count++] = written;
}

void Named::add_host(AddressRange range, bool written) {
  if (range.empty()) return;
  if (hosts == kHosts) {
    anything = true;
    return;
  }
  host[hosts] = range;
  host_writes[hosts++] = written;
}

void NamedMemory::Ticks::add(Tick added) {
  if (tick[0] == added) return;
  for (int i = kKept - 1; i > 0; --i) tick[i] = tick[i - 1];
  tick[0] = added;
}

Tick NamedMemory::Ticks::latest(Tick up_to) const {
  for (Tick kept : tick)
    if (kept <= up_to) return kept;
  return up_to;
}

// A name that no allocation has; the one whose memory went first goes first. Where all are in use, the next
// one is shared.
Name NamedMemory::take() {
  if (fresh_ < kMaximumNames - kFirst) return static_cast<Name>(kFirst + fresh_++);
  int oldest = 0;
  for (int i = kFirst; i < kMaximumNames; ++i)
    if (holders_[i].users == 0 && (oldest == 0 || holders_[i].released < holders_[oldest].released))
      oldest = i;
  if (oldest == 0) return static_cast<Name>(kFirst + shared_++ % (kMaximumNames - kFirst));
  for (Last& last : last_) {
    if (last.any == 0) continue;
    last.read[oldest] = last.written[oldest] = {};
  }
  return static_cast<Name>(oldest);
}

Name NamedMemory::name_of(uint64_t begin) {
  if (begin == 0) return kNoName;
  if (Name* known = by_begin_.find(begin)) {
    ++holders_[*known].users;
    return *known;
  }
  Name name = take();
  ++holders_[name].users;
  by_begin_.insert(begin, name);  // no room: the name stays in use
  return name;
}

void NamedMemory::released(uint64_t begin) {
  Name* name = by_begin_.find(begin);
  if (!name) return;
  Holder& holder = holders_[*name];
  if (holder.users > 0 && --holder.users == 0) holder.released = ++releases_;
  by_begin_.erase(begin);
}

Tick NamedMemory::latest_conflict(Slot stream, const Named& named, Tick up_to) const {
  const Last& last = last_[stream];
  if (named.anything) return std::min(last.any, up_to);
  if (named.nothing()) return 0;
  Tick latest = last.anything.latest(up_to);
  for (int i = 0; i < named.count; ++i) {
    latest = std::max(latest, last.written[named.names[i]].latest(up_to));
    if (named.writes[i]) latest = std::max(latest, last.read[named.names[i]].latest(up_to));
  }
  if (named.hosts > 0) latest = std::max(latest, std::min(last.more_host, up_to));
  for (int i = 0; i < named.hosts; ++i)
    for (const HostUse& use : last.host)
      if (use.tick != 0 && use.range.overlaps(named.host[i]) && (use.written || named.host_writes[i]))
        latest = std::max(latest, std::min(use.tick, up_to));  // where it is later, there may be an older one
  return latest;
}

bool NamedMemory::rests_on_arguments(Slot stream, Tick tick, const Named& named) const {
  return last_[stream].any > tick && (named.kernel || last_[stream].kernel > tick);
}

void NamedMemory::note_host(Last& last, Tick tick, AddressRange range, bool written) {
  HostUse* oldest = &last.host[0];
  for (HostUse& use : last.host) {
    if (use.tick != 0 && use.range == range && use.written == written) {
      use.tick = tick;
      return;
    }
    if (use.tick < oldest->tick) oldest = &use;
  }
  if (last.more_host < oldest->tick) last.more_host = oldest->tick;
  *oldest = {range, tick, written};
}

void NamedMemory::note(Slot stream, Tick tick, const Named& named) {
  if (named.nothing()) return;
  Last& last = last_[stream];
  last.any = tick;
  if (named.anything) last.anything.add(tick);
  if (named.kernel && !named.anything) last.kernel = tick;
  for (int i = 0; i < named.count; ++i)
    (named.writes[i] ? last.written : last.read)[named.names[i]].add(tick);
  for (int i = 0; i < named.hosts; ++i) note_host(last, tick, named.host[i], named.host_writes[i]);
}

void NamedMemory::reset() {
  for (Last& last : last_)
    if (last.any != 0) last = {};
  for (Holder& holder : holders_) holder = {};
  by_begin_.clear();
  fresh_ = shared_ = 0;
  releases_ = 0;
}

}  // namespace diogenes::agent
