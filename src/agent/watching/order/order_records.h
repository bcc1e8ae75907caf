// Which releases and acquires are recorded. What a thread has to tell are records of its own, other than of order, and what
// it has heard.
//
// - Barriers, semaphores, conditions and futexes: a release, if the thread has more to tell than when it released the object
//   last. An acquire, if a release was recorded that the thread has not heard of, or if the thread slept.
// - Mutexes and read-write locks order nothing for certain, and are taken most often. A release, if the thread has more to
//   tell than at its last release of anything: it may let others go on from here. An acquire, if the thread slept.
//
// Threads that hand over again and again and do nothing else would fill the disk. So an object gets 65,536 records, and
// one more for each 50 us. An object with more, and a semaphore or condition that several threads release, orders nothing
// for certain: it is recorded like a lock from then on, and acquires that are left out are counted (Drop::orders_full).
//
// In: what sync_calls.cc and thread_starts.cc see the program do. Out: OrderRecords.
#pragma once

#include "agent/core/pass_through.h"
#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/watching/order/order.h"
#include "agent/watching/order/sync_objects.h"
#include "agent/watching/order/thread.h"
#include "base/units.h"

namespace diogenes::agent {

OrderThread& this_thread();  // numbered, and of this generation

inline uint32_t own_news() {
  const ThreadState& state = thread_state;
  return state.file_generation == folder_generation() ? state.news : 0;
}
// Changes when the thread has more to tell. 0: it has nothing to tell.
inline uint32_t version(const OrderThread& me) { return own_news() + me.learned; }
inline bool has_file(const OrderThread& me) { return me.has_file || own_news() != 0; }
inline uint64_t of_thread(const OrderThread& me, uint32_t value) { return uint64_t{me.number} << 32 | value; }

inline bool recording() { return process_file() != nullptr; }
inline uint64_t address_of(const void* object) { return reinterpret_cast<uint64_t>(object); }
uint32_t number_new_thread();

// Makes the thread's file if there is none. False: it cannot record. Not under an object's lock.
bool prepare(OrderThread& me);

OrderRecord record_of(OrderObject kind, uint64_t address, uint8_t flags);  // without its time
bool has_slept(Blocked blocked);                                           // what waits less did not sleep
void set_blocked(OrderRecord& record, Blocked blocked);
void write(const OrderRecord& record);
void write_start(OrderThread& me);  // the first record in its file

// One more release. True: `record` is to be written.
bool release(LockedObject& object, OrderThread& me, OrderRecord& record);

enum class Heard : uint8_t { nothing, recorded, no_file };
// The thread goes on because of release `sequence` and those before it.
Heard acquire(LockedObject& object, OrderThread& me, uint32_t sequence, bool slept, OrderRecord& record);

inline void finish_pending(const OrderThread& me) {
  if (me.awaits_futex) finish_futex_wait();
}

constexpr auto kMake = LockedObject::Absent::make;
constexpr auto kLeave = LockedObject::Absent::leave;

// An acquire. `sequence(object)`: the release that it follows, 0: none; called again where the file had to be made
// first, so it must change nothing.
template <typename Sequence>
void hear(OrderObject kind, uint64_t address, uint8_t flags, Blocked blocked, Sequence&& sequence) {
  OrderThread& me = this_thread();
  finish_pending(me);
  if (!recording()) return;
  // When a futex call of the program's was back is not known.
  const bool slept = kind != OrderObject::futex && has_slept(blocked);
  Heard heard = Heard::no_file;
  {
    PassThrough own;  // to the end: a handler's records come before this one or after it
    OrderRecord record{};
    for (int attempt = 0; attempt < 2 && heard == Heard::no_file; ++attempt) {
      if (attempt > 0 && !prepare(me)) break;
      LockedObject object(kind, address, slept ? kMake : kLeave);
      if (!object) break;
      record = record_of(kind, address, flags | kAcquires);
      heard = acquire(object, me, sequence(object), slept, record);
    }
    set_blocked(record, blocked);
    if (heard == Heard::recorded) write(record);
  }
  if (slept || heard == Heard::recorded) after_acquire();
}

// A release; `change(object, record)` under the object's lock.
template <typename Change>
void tell(OrderObject kind, uint64_t address, uint8_t flags, Change&& change) {
  OrderThread& me = this_thread();
  finish_pending(me);
  PassThrough own;
  OrderRecord record{};
  bool tells = false;
  if (recording() && (version(me) != 0 || order_is_for_times)) prepare(me);
  {
    LockedObject object(kind, address, kMake);
    if (!object) return;
    record = record_of(kind, address, flags);
    tells = release(object, me, record);
    change(object, record);
  }
  if (!tells || !prepare(me)) return;
  record.thread = me.file;
  write(record);
}

constexpr auto kNoChange = [](LockedObject&, OrderRecord&) {};

}  // namespace diogenes::agent
