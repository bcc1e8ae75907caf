// The index is an array of live guards by begin, each with the furthest end up to there, so that what lies
// over an address is found by one search and a walk back that ends early. Writers hold the lock; readers
// without it look at the version before and after, and take a change in between for 'may be guarded'.
#include "agent/watching/guard/guard_table.h"

#include <algorithm>
#include <cstring>

#include "agent/watching/guard/watch_records.h"
#include "agent/watching/guard/watchpoints/registers.h"

namespace diogenes::agent {

std::atomic<uint32_t> openings{0};
std::atomic<uint32_t> touches{0};
const DeferredWaits* deferred_waits = nullptr;

namespace {

using Entry = GuardEntry;
constinit Guard guards[kMaximumGuards] = {};  // zero pages until they are used
Entry entries[kMaximumGuards];
uint32_t entry_count = 0;
uint32_t used_before = 0;  // ids from here on were never used
uint32_t spare[kMaximumGuards];
uint32_t spare_count = 0;
uint32_t found[kMaximumGuards];
uint32_t marked_list[kMaximumGuards];

template <typename T>
T relaxed(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

// First entry that begins at or after `address`.
uint32_t lower_entry(uintptr_t address) {
  uint32_t low = 0, high = entry_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (entries[middle].begin < address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct IndexChange {
  // The release fence keeps the entries' stores after the odd version; pairs with the fence in
  // may_be_guarded.
  IndexChange() {
    wiped.version.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~IndexChange() { wiped.version.fetch_add(1, std::memory_order_seq_cst); }
};

void refresh_furthest(uint32_t from) {
  for (uint32_t i = from; i < entry_count; ++i)
    entries[i].furthest = i ? std::max(entries[i - 1].furthest, entries[i].end) : entries[i].end;
}

void erase_entry(uint32_t id) {
  uintptr_t begin = guards[id].range.pages().begin;
  uint32_t at = lower_entry(begin);
  while (at < entry_count && entries[at].id != id) ++at;
  if (at == entry_count) return;
  IndexChange change;
  memmove(entries + at, entries + at + 1, (entry_count - at - 1) * sizeof(Entry));
  --entry_count;
  refresh_furthest(at);
}

enum Level : int { open_level, read_only_level, closed_level };

bool protect(uintptr_t begin, uintptr_t end, int level) {
  static constexpr int kProtections[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};
  if (kernel_mprotect(begin, end - begin, kProtections[level]) == 0) return true;
  if (end - begin == kPageSize) return false;
  // A hole, perhaps: what is there must still get its protection.
  uintptr_t middle = (begin + (end - begin) / 2) & ~(kPageSize - 1);
  bool low = protect(begin, middle, level);
  bool high = protect(middle, end, level);
  return low && high;
}

// Neighbouring pages of one level get it in one call.
class Runs {
 public:
  void add(uintptr_t begin, uintptr_t end, int level) {
    if (begin >= end) return;
    if (level == level_ && begin == end_) {
      end_ = end;
      return;
    }
    flush();
    begin_ = begin, end_ = end, level_ = level;
  }
  bool flush() {
    if (begin_ < end_ && !protect(begin_, end_, level_)) ok_ = false;
    begin_ = end_ = 0;
    return ok_;
  }

 private:
  uintptr_t begin_ = 0, end_ = 0;
  int level_ = open_level;
  bool ok_ = true;
};

}  // namespace

Section::Section(Where where, AddressRange awaited) : where_(where) {
  for (hold(); deferred_waits; hold()) {
    const uint32_t latest = deferred_waits->latest_over(awaited);
    if (latest == 0) return;
    let_go();
    deferred_waits->await(latest);
  }
}

GuardIndexPlace guard_index_place() {
  return {reinterpret_cast<uintptr_t>(entries), reinterpret_cast<uintptr_t>(&entry_count)};
}

Guard* guard_at(uint32_t id) { return id < kMaximumGuards ? &guards[id] : nullptr; }

Guard* guard_of(GuardHandle handle, uint32_t& id) {
  id = (handle & 0xffff) - 1;
  if (handle == kNoGuard || id >= kMaximumGuards) return nullptr;
  Guard* guard = guard_at(id);
  if (guard->generation != handle >> 16 || guard->state.load(std::memory_order_relaxed) == Guard::unused)
    return nullptr;
  return guard;
}

GuardList live_over(AddressRange pages) {
  uint32_t count = 0;
  for (uint32_t i = lower_entry(pages.end); i-- > 0 && entries[i].furthest > pages.begin;)
    if (entries[i].end > pages.begin) found[count++] = entries[i].id;
  std::reverse(found, found + count);
  return {found, count};
}

GuardList pages_closed_over(AddressRange pages) {
  GuardList all = live_over(pages);
  uint32_t count = 0;
  for (uint32_t id : all)
    if (!guards[id].by_watchpoints) found[count++] = id;
  return {found, count};
}

bool may_be_guarded(AddressRange range) {
  if (wiped.live.load(std::memory_order_seq_cst) == 0 || range.empty()) return false;
  AddressRange pages = range.pages();
  if (pages.empty()) return true;  // wraps around
  uint32_t version = wiped.version.load(std::memory_order_acquire);
  if (version & 1) return true;
  uint32_t low = 0, high = std::min(relaxed(entry_count), kMaximumGuards);
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (relaxed(entries[middle].begin) < pages.end)
      low = middle + 1;
    else
      high = middle;
  }
  bool guarded = low > 0 && relaxed(entries[low - 1].furthest) > pages.begin;
  std::atomic_thread_fence(std::memory_order_acquire);
  return guarded || wiped.version.load(std::memory_order_relaxed) != version;
}

bool make_live(AddressRange range, Protection protection, const Watching& how, uint32_t& id) {
  if (spare_count > 0)
    id = spare[--spare_count];
  else if (used_before < kMaximumGuards)
    id = used_before++;
  else
    return false;
  Guard& guard = guards[id];
  guard.range = range;
  guard.protection = protection;
  guard.steps = 0;
  guard.registers = 0;
  guard.by_watchpoints = how.method == WatchMethod::watchpoints;
  guard.frame = how.frame;
  guard.watch = how.watch;
  guard.deferral = how.deferral, guard.tells = how.tells;
  guard.touch = {};
  ++guard.generation;
  guard.state.store(Guard::live, std::memory_order_relaxed);
  AddressRange pages = range.pages();
  uint32_t at = lower_entry(pages.begin);
  {
    IndexChange change;
    memmove(entries + at + 1, entries + at, (entry_count - at) * sizeof(Entry));
    entries[at] = {pages.begin, pages.end, 0, id};
    ++entry_count;
    refresh_furthest(at);
  }
  // After the index: whoever reads it as zero came before this guard.
  wiped.live.fetch_add(1, std::memory_order_seq_cst);
  if (guard.by_watchpoints) wiped.watched.fetch_add(1, std::memory_order_seq_cst);
  return true;
}

void mark_touched(uint32_t id, const Touch& touch) {
  Guard& guard = guards[id];
  if (guard.state.load(std::memory_order_relaxed) != Guard::live) return;
  erase_entry(id);
  wiped.live.fetch_sub(1, std::memory_order_seq_cst);
  guard.touch = touch;
  if (guard.by_watchpoints) {
    wiped.watched.fetch_sub(1, std::memory_order_seq_cst);
    take_registers(guard);
    if (touch.by != TouchBy::nobody && frame_ended(guard.frame)) guard.touch.by = TouchBy::gone;
  }
  if (touch.by == TouchBy::program || touch.by == TouchBy::driver || touch.by == TouchBy::system_call)
    guard.touch.address = std::clamp(touch.address, guard.range.begin, guard.range.end - 1);
  guard.touch.steps = guard.steps;
  record_watch_end(guard.watch, guard.touch);
  if (guard.tells) deferred_waits->touched(guard);
  guard.state.store(Guard::touched, std::memory_order_release);                      // pairs with collect()
  if (touch.by != TouchBy::nobody) touches.fetch_add(1, std::memory_order_release);  // with touch_count()
}

void release(uint32_t id) {
  guards[id].state.store(Guard::unused, std::memory_order_relaxed);
  spare[spare_count++] = id;
}

bool protect_pages(AddressRange pages) {
  Runs runs;
  uintptr_t done = pages.begin, closed_to = 0, read_only_to = 0;
  auto emit = [&](uintptr_t to) {
    while (done < to) {
      int level = closed_to > done ? closed_level : read_only_to > done ? read_only_level : open_level;
      uintptr_t until = level == closed_level      ? std::min(to, closed_to)
                        : level == read_only_level ? std::min(to, read_only_to)
                                                   : to;
      runs.add(done, until, level);
      done = until;
    }
  };
  for (uint32_t id : pages_closed_over(pages)) {
    AddressRange over = guards[id].range.pages();
    emit(std::clamp(over.begin, pages.begin, pages.end));
    uintptr_t& to = guards[id].protection == Protection::no_access ? closed_to : read_only_to;
    to = std::max(to, over.end);
  }
  emit(pages.end);
  openings.fetch_add(1, std::memory_order_seq_cst);
  return runs.flush();
}

void mark_touched_and_open(GuardList list, const Touch& touch) {
  // protect_pages() makes its own list, so this one is kept apart; ids only, each slot's range outlives the
  // mark.
  if (list.ids != marked_list) memcpy(marked_list, list.ids, list.count * sizeof(uint32_t));
  for (uint32_t i = 0; i < list.count; ++i) mark_touched(marked_list[i], touch);
  for (uint32_t i = 0; i < list.count; ++i) {
    AddressRange pages = guards[marked_list[i]].range.pages();
    if (guards[marked_list[i]].by_watchpoints) continue;
    if (i > 0 && guards[marked_list[i - 1]].range.pages().contains(pages) &&
        !guards[marked_list[i - 1]].by_watchpoints)
      continue;  // just done
    protect_pages(pages);
  }
}

void open_guards(AddressRange range, TouchBy by, Section::Where where) {
  if (!may_be_guarded(range)) return;
  Section section(where, range.pages());
  Touch touch{by, Access::unknown, monotonic_now(), range.begin, 0};
  // Released in part: what is left may be used yet, and nobody will see it.
  auto goes_in_part = [&](uint32_t id) { return by == TouchBy::gone && !range.contains(guards[id].range); };
  for (bool partly : {false, true}) {
    GuardList near = live_over(range.pages());
    uint32_t count = 0;
    for (uint32_t id : near)
      if (guards[id].range.overlaps(range) && goes_in_part(id) == partly) marked_list[count++] = id;
    if (partly) touch.by = TouchBy::exposed;
    mark_touched_and_open({marked_list, count}, touch);
  }
}

void open_every_guard(TouchBy by, Section::Where where) {
  if (wiped.live.load(std::memory_order_seq_cst) == 0) return;
  constexpr AddressRange kAll{0, ~uintptr_t{0} & ~(kPageSize - 1)};
  Section section(where, kAll);
  Touch touch{by, Access::unknown, monotonic_now(), 0, 0};
  mark_touched_and_open(live_over(kAll), touch);
}

}  // namespace diogenes::agent
