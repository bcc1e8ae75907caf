#include "agent/necessity/named_memory.h"

#include <algorithm>

namespace diogenes::agent {

namespace {

constexpr int kFirst = kFirstName;

// Host memory has three kinds of names: one for all of it, pages, and pieces of a page. Who touches some
// bytes writes the smallest that it can, and reads the larger ones, so that it meets those who name these
// alone.
constexpr int kHashed = (kFirstName - kHostRange - 1) / 2;
constexpr uint64_t kPieceBits = 6, kPageBits = 12;
constexpr uint64_t kMaximumPieces = 8;

Name hashed(uint64_t number, int kind) {
  auto mixed = static_cast<int>((number * 0x9e3779b97f4a7c15) >> 40);
  return static_cast<Name>(kHostRange + 1 + kind * kHashed + mixed % kHashed);
}

}  // namespace

void Named::add_host(AddressRange range, bool written) {
  if (range.empty()) return;
  auto parts = [range](uint64_t bits) { return ((range.end - 1) >> bits) - (range.begin >> bits) + 1; };
  bool pages = parts(kPageBits) <= kMaximumPieces, pieces = parts(kPieceBits) <= kMaximumPieces;
  add(kHostRange, written && !pages);
  for (uint64_t i = 0; pages && i < parts(kPageBits); ++i)
    add(hashed((range.begin >> kPageBits) + i, 0), written && !pieces);
  for (uint64_t i = 0; pieces && i < parts(kPieceBits); ++i)
    add(hashed((range.begin >> kPieceBits) + i, 1), written);
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
    last.read[oldest] = last.written[oldest] = 0;
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

Tick NamedMemory::latest_conflict(Slot stream, const Named& named) const {
  const Last& last = last_[stream];
  if (named.anything) return last.any;
  Tick latest = named.nothing() ? 0 : last.anything;
  for (int i = 0; i < named.count; ++i) {
    latest = std::max(latest, last.written[named.names[i]]);
    if (named.writes[i]) latest = std::max(latest, last.read[named.names[i]]);
  }
  return latest;
}

bool NamedMemory::rests_on_arguments(Slot stream, Tick tick, const Named& named) const {
  return last_[stream].any > tick && (named.kernel || last_[stream].kernel > tick);
}

void NamedMemory::note(Slot stream, Tick tick, const Named& named) {
  if (named.nothing()) return;
  Last& last = last_[stream];
  last.any = tick;
  if (named.anything) last.anything = tick;
  if (named.kernel && !named.anything) last.kernel = tick;
  for (int i = 0; i < named.count; ++i) (named.writes[i] ? last.written : last.read)[named.names[i]] = tick;
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
