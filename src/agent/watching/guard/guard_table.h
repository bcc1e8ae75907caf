// The guards that exist, which of them are live over which pages, and what the pages' protection must be.
// State machine of a guard: guards.cc. Everything here but the counters is under the table's lock (Section).
#pragma once
#include <atomic>
#include <cstdint>

#include "agent/watching/guard/guard.h"
#include "agent/watching/guard/section.h"
#include "base/range.h"

namespace diogenes::agent {

inline constexpr uint32_t kMaximumGuards = 16384;

extern std::atomic<uint32_t> touches;   // guards that were touched so far
extern std::atomic<uint32_t> openings;  // times that pages were given back; for faults that come late

// Who defers waits of the program's (`diogenes prove`). Null in measuring runs.
struct DeferredWaits {
  // Under the lock: the latest that guards over these pages stand for and that is not done; 0: none.
  uint32_t (*latest_over)(AddressRange pages);
  void (*await)(uint32_t deferral);  // holding nothing of the agent's
  void (*touched)(const Guard&);     // one that tells
  void (*spent)(Nanoseconds time);   // by a fault or a trap, waiting left out
};
extern const DeferredWaits* deferred_waits;

Guard* guard_at(uint32_t id);
Guard* guard_of(GuardHandle handle, uint32_t& id);  // null: it was lowered

// Live guards whose pages overlap `pages`, by their begin. The list is good until the next call.
struct GuardList {
  const uint32_t* ids;
  uint32_t count;
  const uint32_t* begin() const { return ids; }
  const uint32_t* end() const { return ids + count; }
};
GuardList live_over(AddressRange pages);

GuardList pages_closed_over(AddressRange pages);  // page guards only

// The index of live guards, by `begin`; and where it is, for agents of other processes (peer_memory.h).
struct GuardEntry {
  uintptr_t begin, end;  // pages
  uintptr_t furthest;    // of the ends up to this one
  uint32_t id;
};
struct GuardIndexPlace {
  uintptr_t entries, count;
};
GuardIndexPlace guard_index_place();

// Without the lock: false only where no live guard's pages overlap.
bool may_be_guarded(AddressRange range);

// A new live guard, not yet protecting its pages. False: full.
bool make_live(AddressRange range, Protection protection, const Watching& how, uint32_t& id);
// Live to touched. Its pages keep their protection until protect_pages().
void mark_touched(uint32_t id, const Touch& touch);
void release(uint32_t id);  // touched to unused

// Gives every page in `pages` the protection that the live guards over it ask for. False: the kernel refused
// some.
bool protect_pages(AddressRange pages);
// Marks all that `ids` names and gives their pages back.
void mark_touched_and_open(GuardList guards, const Touch& touch);

// Guards over these bytes (not only their pages), or with no range: all of them.
void open_guards(AddressRange range, TouchBy by, Section::Where where);
void open_every_guard(TouchBy by, Section::Where where);

}  // namespace diogenes::agent
