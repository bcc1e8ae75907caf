// Who knows what. Each thread keeps three sets: what it knows for certain, by orders that every run has; what
// it knows by those of this run, too; and what it may tell, which is more where an acquire named an earlier
// release than the last (a semaphore with several tokens). An acquire is recorded if the object tells
// anything that the thread does not know as surely; a release, if the thread may tell anything that the
// object does not tell yet.
//
// In: what order.cc and thread_order.cc see the program do. Out: OrderRecords, and the knowledge itself.
#pragma once

#include "agent/core/pass_through.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/watching/order/hand_overs.h"
#include "agent/watching/order/order.h"
#include "agent/watching/order/sync_objects.h"
#include "agent/watching/order/thread.h"
#include "base/units.h"

namespace diogenes::agent {

struct Knows {
  Knowledge certain, known, tells;
};

OrderThread& this_thread();  // numbered, and of this generation

inline uint32_t own_news() {
  const ThreadState& state = thread_state;
  return state.file_generation == folder_generation() ? state.news : 0;
}
// Changes when the thread has news. 0: it knows nothing.
inline uint32_t version(const OrderThread& me) { return own_news() + me.learned; }
inline uint64_t synced_value(const OrderThread& me) { return uint64_t{me.number} << 32 | version(me); }

inline bool recording() { return process_file() != nullptr; }
inline uint64_t address_of(const void* object) { return reinterpret_cast<uint64_t>(object); }
uint32_t number_new_thread();

// Makes the thread's file if there is none. False: it cannot record. Not under an object's lock.
bool prepare(OrderThread& me);
Knows& knows_now(OrderThread& me);  // with its own latest news; prepare has succeeded
void end_source(OrderThread& me);   // it ends: its number as a source is free for those who know all of it

OrderRecord record_of(OrderObject kind, uint64_t address, uint8_t flags);  // without its time
void set_blocked(OrderRecord& record, Blocked blocked);
void write(const OrderRecord& record);
void write_start(OrderThread& me);  // the first record in its file

// One more release. True: `record` is to be written. `prepare` has succeeded, or the thread has nothing to
// tell.
bool release(LockedObject& object, OrderThread& me, OrderRecord& record);

enum class Heard : uint8_t { nothing, news, no_file };
// The thread goes on because of release `sequence` and those before it.
Heard acquire(LockedObject& object, OrderThread& me, uint32_t sequence, OrderRecord& record);

inline void finish_pending(const OrderThread& me) {
  if (me.awaits_futex) finish_futex_wait();
}

// An acquire of the object, if it is known. `sequence(object)`: the release that it follows, 0: none; called
// again where the file had to be made first, so it must change nothing.
template <typename Sequence>
void hear(OrderObject kind, uint64_t address, uint8_t flags, Blocked blocked, Sequence&& sequence) {
  OrderThread& me = this_thread();
  finish_pending(me);
  if (!recording()) return;
  {
    PassThrough own;  // to the end: a handler's records come before this one or after it
    Heard heard = Heard::no_file;
    OrderRecord record{};
    for (int attempt = 0; attempt < 2 && heard == Heard::no_file; ++attempt) {
      if (attempt > 0 && !prepare(me)) return;
      LockedObject object(kind, address, LockedObject::Absent::leave);
      if (!object) return;
      record = record_of(kind, address, flags | kAcquires);
      heard = acquire(object, me, sequence(object), record);
    }
    if (heard != Heard::news) return;
    set_blocked(record, blocked);
    write(record);
  }
  after_acquire_with_news();
}

// A release; `change(object, record)` under the object's lock.
template <typename Change>
void tell(OrderObject kind, uint64_t address, uint8_t flags, LockedObject::Absent absent, Change&& change) {
  OrderThread& me = this_thread();
  finish_pending(me);
  PassThrough own;
  OrderRecord record{};
  bool tells = false;
  if (recording() && (version(me) != 0 || order_is_for_times)) prepare(me);
  {
    LockedObject object(kind, address, absent);
    if (!object) return;
    record = record_of(kind, address, flags);
    tells = release(object, me, record);
    change(object, record);
  }
  if (tells) write(record);
}

constexpr auto kNoChange = [](LockedObject&, OrderRecord&) {};
constexpr auto kMake = LockedObject::Absent::make;
constexpr auto kLeave = LockedObject::Absent::leave;

}  // namespace diogenes::agent
