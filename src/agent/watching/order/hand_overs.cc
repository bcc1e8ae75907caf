#include "agent/watching/order/hand_overs.h"

#include "agent/watching/order/order_records.h"

namespace diogenes::agent {

bool order_is_for_times = false;

namespace {

// A free lock that changes hands more often is recorded this often: the schedule needs it no finer.
constexpr int64_t kSeldom = 10'000;  // ns

uint64_t alone(const OrderThread& me) { return of_thread(me, 0xffffffff); }
uint64_t teller(const OrderThread& me) { return of_thread(me, me.has_file ? me.file : 0xffffffff); }

// The object if this thread alone uses it, or released it last. Null: it has to be looked at under its lock.
Object* mine(OrderObject kind, const void* object) {
  const OrderThread& me = order_thread;
  const bool may_be = recording() && me.number != 0 && me.has_file == has_file(me);
  Object* it = may_be ? glance(kind, address_of(object)) : nullptr;
  return it && (it->told_of(me.number) == alone(me) || it->teller == teller(me)) ? it : nullptr;
}

// The object has another user from now on, or `me` is the first.
void note_user(LockedObject& object, const OrderThread& me) {
  if (object->sender == 0) object->sender = me.number;
  if (object->sender != me.number && !object->several) {
    object->several = true;
    for (auto& one : object->told) one.store(0, std::memory_order_relaxed);
  }
  if (!object->several) object->told_of(me.number).store(alone(me), std::memory_order_relaxed);
}

}  // namespace

void hand_on(OrderObject kind, const void* object) {
  if (Object* it = mine(kind, object)) {
    // No order: who finds the new time with the old thread, or the other way round, is wrong by one hand-over.
    if (it->teller != 0) it->released_ns.store(monotonic_now().count, std::memory_order_relaxed);
    return;
  }
  if (!recording()) return;
  KeepErrno keep;
  OrderThread& me = this_thread();
  PassThrough own;
  if (own_news() != 0) prepare(me);
  LockedObject it(kind, address_of(object), kMake);
  if (!it) return;
  note_user(it, me);
  if (!it->several) return;
  it->teller.store(teller(me), std::memory_order_relaxed);
  it->released_ns.store(monotonic_now().count, std::memory_order_relaxed);
}

void take_over(OrderObject kind, const void* object, uint8_t flags, Blocked blocked) {
  if (mine(kind, object)) return;
  if (!recording()) return;
  KeepErrno keep;
  OrderThread& me = this_thread();
  PassThrough own;
  OrderRecord record = record_of(kind, address_of(object), flags | kAcquires | kNamesRelease);
  set_blocked(record, blocked);
  {
    LockedObject it(kind, address_of(object), kMake);
    if (!it) return;
    note_user(it, me);
    const uint64_t by = it->teller.load(std::memory_order_relaxed);
    if (by == 0 || by >> 32 == me.number) return;
    record.thread = static_cast<uint32_t>(by);
    // Times of threads that never call the driver, and that no other's work lets go on, are of no interest.
    if (record.thread == 0xffffffff && !has_file(me)) return;
    record.at_ns = monotonic_now().count;
    if (!(record.flags & kBlocked) && record.at_ns - it->recorded_ns < kSeldom) return;
    it->recorded_ns = record.at_ns;
    record.address = static_cast<uint64_t>(it->released_ns.load(std::memory_order_relaxed));
  }
  if (prepare(me)) write(record);
}

}  // namespace diogenes::agent
