// The guards that exist, which of them are live over which pages, and what the pages' protection must be.
// State machine of a guard: guards.cc. Everything here but the counters is under the table's lock (Section).
#pragma once
#include <atomic>
#include <cstdint>

#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/range_set.h"
#include "agent/watching/guard/system_calls/kernel.h"
#include "base/range.h"

namespace diogenes::agent {

inline constexpr uint32_t kMaximumGuards = 16384;

struct Guard {
  enum State : uint8_t { unused, live, touched };
  AddressRange range;
  Protection protection = Protection::no_access;
  std::atomic<uint8_t> state{unused};  // release when touched, after `touch`; acquire in collect()
  uint16_t generation = 0;             // of the slot, in handles
  uint32_t steps = 0;                  // accesses beside it that were stepped over
  uint8_t registers = 0;               // watchpoints that it has, one bit each
  bool by_watchpoints = false;         // asks nothing of its pages
  uint32_t watch = 0;                  // of Watching
  uint32_t deferral = 0;               // of Watching
  bool tells = false;                  // of Watching
  FrameMarks frame;
  Touch touch;
};

// Zero in a forked child: the kernel wipes this page there. So the child is not active, holds no lock, and
// has no guards.
struct alignas(kPageSize) WipedOnFork {
  std::atomic<uint32_t> live{0};     // live guards
  std::atomic<uint32_t> active{0};   // handlers are installed and threads are dispatched
  std::atomic<uint32_t> version{0};  // of the index of live guards; odd while it changes
  std::atomic<uint32_t> watched{0};  // of the live ones: by watchpoints
  std::atomic<uint32_t> forking{0};  // threads between the system call that forks and their next step
  SignalSafeLock table;
  SignalSafeLock signals;
};
extern WipedOnFork wiped;

inline bool guards_active() { return wiped.active.load(std::memory_order_acquire) != 0; }

extern std::atomic<uint32_t> touches;   // guards that were touched so far
extern std::atomic<uint32_t> openings;  // times that pages were given back; for faults that come late

// Of the calling thread (threads.cc). While all signals are blocked, a system call of libc's that is
// dispatched would end the program: a file that grows, a lock that is waited for.
void allow_system_calls();
void dispatch_again();

// Holds the table. Signals are blocked inside; a handler, where they already are, says so.
class Section {
 public:
  enum Where { outside, in_handler };
  explicit Section(Where where) : where_(where) { hold(); }
  // ... when all that guards over these pages were deferred for is done: whatever opens pages awaits that first.
  Section(Where where, AddressRange awaited);
  ~Section() { let_go(); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  void hold() {
    if (where_ == outside) {
      mask_ = kernel_sigmask(SIG_SETMASK, kAllSignals);
      allow_system_calls();
    }
    wiped.table.lock();
  }
  void let_go() {
    wiped.table.unlock();
    if (where_ == outside) {
      dispatch_again();
      kernel_sigmask(SIG_SETMASK, mask_);
    }
  }
  Where where_;
  SignalBits mask_ = 0;
};

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

// Pages that no guard may close, all under the lock: the program took rights from them, or gave them that of executing, and
// would get others back; stacks of threads that have ended; stacks of coroutines.
extern RangeSet other_rights, coroutine_stacks;

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
