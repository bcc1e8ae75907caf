// The accesses of GPU work that later ones can conflict with, for each memory, and whether the CPU's accesses
// to them would be seen.
// In: accesses of work, and where watches begin and end. Out: those that conflict with an access.
// Source: docs/necessity.md (watching, conflicts).
#pragma once
#include <memory>
#include <vector>

#include "analysis/necessity/containers/few.h"
#include "analysis/necessity/containers/number_map.h"
#include "analysis/necessity/containers/range_index.h"
#include "analysis/necessity/events.h"
#include "analysis/necessity/order/vector_clock.h"

namespace diogenes::necessity {

// Whatever conflicts with the other conflicts with this one.
inline bool does_all_of(const Access& access, const Access& other) {
  return (access.writes || !other.writes) && (access.on_host || !other.on_host) &&
         access.memory == other.memory && access.range.contains(other.range);
}

// How surely a pair of accesses was ordered.
enum class Sureness : uint8_t { none, possible, certain };

using AccessIndex = Index<struct LiveAccessTag>;

struct LiveAccess {
  Access access;
  StreamNumber stream;
  uint32_t tick = 0;
  uint32_t blind = 0;   // Reason bits: why it cannot be watched
  bool effect = false;  // no access to any memory we know of, but something that cannot be watched
  bool alive = false;
  bool gate = false;                  // its work may wait for the CPU
  bool past = false;                  // Event::past
  bool gated = false;                 // ... or comes behind such work
  bool used = false;                  // somebody has used it since, or may have
  bool exposed = false;               // anybody awake may be touching it unseen
  bool stands_for_used = false;       // it replaced one that somebody may have used
  bool unwatched = false;             // in the list of those that are not watched now
  uint32_t listed = 0;                // when it came into that list
  uint32_t at = 0, at_unwatched = 0;  // positions in the lists
  // The first later work that does all that this does, and that stays behind it whatever is corrected. When
  // nobody can know this one to be done and not that one, this one can go. 0: there is none.
  StreamNumber replaced_in;
  uint32_t replaced = 0;
  uint32_t replaced_there = 0;  // the first of its own stream that is such
  // Who came after it, and how surely: they need no second look.
  struct Held {
    ClockKey by;
    Sureness sureness;
  };
  Few<Held, 2> held;

  // A download that nobody has used: where its memory is released, the copy can go, and with it this access.
  bool is_dead_download() const {
    return access.on_host && access.writes && !access.argument && !used && !stands_for_used && !effect;
  }
  // False: it has gone, and another one may be at its place.
  bool is_of(StreamNumber of_stream, uint32_t of_tick) const {
    return alive && stream == of_stream && tick == of_tick;
  }
  Sureness held_by(ClockKey by) const;
  void hold(ClockKey by, Sureness sureness);
};

class Frontier {
 public:
  LiveAccess& operator[](AccessIndex index) { return accesses_[index.value]; }
  AccessIndex add(const Access& access, StreamNumber stream, uint32_t tick, uint32_t blind);
  void remove(AccessIndex index);
  // Accesses that can replace each other: those of one memory, or those without one.
  struct List {
    std::vector<AccessIndex> accesses;
    size_t most = 8;                                 // then it is time to look which can go
    std::unique_ptr<RangeIndex<AccessIndex>> index;  // where they are many
  };
  List& list_of(const LiveAccess& live);
  template <typename Visit>
  void each_list(Visit visit) {
    for (auto& [memory, one] : memories_) visit(one.list);
    visit(any_);
    visit(effects_);
  }
  // The one that replaced `live`, in its list: what it stands for was used, so its copy cannot go.
  void stands_for(List& list, const LiveAccess& live);
  size_t size() const { return accesses_.size() - free_.size(); }
  template <typename Visit>
  void each(Visit visit) {
    for (uint32_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].alive) visit(AccessIndex{i});
    }
  }
  // Those that an access to `range` of `memory` can conflict with (memory invalid: any): their overlap.
  template <typename Visit>
  void each_overlapping(MemoryNumber memory, AddressRange range, Visit visit);

  void watch(WatchNumber watch, MemoryNumber memory, AddressRange range, bool read_only);
  struct Watch {
    MemoryNumber memory;
    AddressRange range;
    bool read_only = false;
    uint32_t at = 0;  // position in its memory's list
  };
  Watch unwatch(WatchNumber watch);                       // it has ended; memory invalid: there was none
  void release(MemoryNumber memory, AddressRange range);  // what lies inside is gone

  // Host accesses that nobody watches: pending ones, and exposed ones.
  template <typename Visit>
  void each_unwatched(Visit visit) const {
    for (AccessIndex index : unwatched_) visit(index);
  }
  // The same for somebody who says of each whether he is done with it: then it does not come again.
  struct Watcher {
    uint64_t round = 0;
    size_t next = 0;
    std::vector<std::pair<AccessIndex, uint32_t>> waiting;  // with LiveAccess::listed
  };
  template <typename Done>
  void each_unwatched(Watcher& watcher, Done done);
  size_t exposed() const { return exposed_; }  // about how many are
  void expose(LiveAccess& live);

 private:
  struct Memory {
    List list;
    std::vector<WatchNumber> watches;
    std::unique_ptr<RangeIndex<WatchNumber>> index;
  };
  bool watched(const LiveAccess& live) const;
  void list_unwatched(AccessIndex index);
  void unlist_unwatched(AccessIndex index);
  void unlist(LiveAccess& live);
  void forget_if_empty(MemoryNumber memory);

  std::vector<LiveAccess> accesses_;
  std::vector<AccessIndex> free_;
  List any_;      // of unknown memory
  List effects_;  // of none
  std::vector<AccessIndex> unwatched_;
  std::vector<std::pair<AccessIndex, uint32_t>> fresh_;  // what came into that list in this round
  uint64_t round_ = 1;
  uint32_t listings_ = 0;
  NumberMap<MemoryNumber, Memory> memories_;
  NumberMap<WatchNumber, Watch> watches_;
  size_t exposed_ = 0;
};

template <typename Visit>
void Frontier::each_overlapping(MemoryNumber memory, AddressRange range, Visit visit) {
  if (!memory.valid()) {
    for (uint32_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].alive && !accesses_[i].effect) visit(AccessIndex{i});
    }
    return;
  }
  if (const Memory* place = memories_.find(memory)) {
    const List& list = place->list;
    if (list.index) {
      list.index->each_overlapping(range, visit);
    } else {
      for (size_t i = 0; i < list.accesses.size(); ++i) {
        const AccessIndex index = list.accesses[i];
        if (accesses_[index.value].access.range.overlaps(range)) visit(index);
      }
    }
  }
  for (size_t i = 0; i < any_.accesses.size(); ++i) visit(any_.accesses[i]);
}

template <typename Done>
void Frontier::each_unwatched(Watcher& watcher, Done done) {
  if (watcher.round != round_) {
    watcher.waiting.clear();
    for (AccessIndex index : unwatched_) watcher.waiting.emplace_back(index, accesses_[index.value].listed);
    watcher.round = round_;
  } else {
    watcher.waiting.insert(watcher.waiting.end(), fresh_.begin() + static_cast<ptrdiff_t>(watcher.next),
                           fresh_.end());
  }
  watcher.next = fresh_.size();
  std::erase_if(watcher.waiting, [&](const std::pair<AccessIndex, uint32_t>& one) {
    const LiveAccess& live = accesses_[one.first.value];
    return !live.unwatched || live.listed != one.second || done(one.first);
  });
}

}  // namespace diogenes::necessity
