// What each object's calls mean as releases and acquires (order.h).
#include "agent/watching/order/order.h"

#include <algorithm>

#include "agent/watching/order/hand_overs.h"
#include "agent/watching/order/order_records.h"

namespace diogenes::agent {

void before_unlock(OrderObject kind, const void* lock, uint8_t flags) {
  if (order_is_for_times) return hand_on(kind, lock);
  if (!recording()) return;
  const OrderThread& me = order_thread;
  if (!me.awaits_futex && me.told == version(me)) return;
  KeepErrno keep;
  tell(kind, address_of(lock), flags, kNoChange);
}

void after_lock(OrderObject kind, const void* lock, uint8_t flags, Blocked blocked) {
  if (order_is_for_times) return take_over(kind, lock, flags, blocked);
  if (!recording()) return;
  if (!has_slept(blocked) && !order_thread.awaits_futex) return;
  KeepErrno keep;
  hear(kind, address_of(lock), flags, blocked, [](LockedObject& object) { return object->sequence; });
}

void note_unfollowed(OrderObject kind, const void* object, const void* caller) {
  if (!order_wanted.load(std::memory_order_relaxed) || in_driver_code(reinterpret_cast<uintptr_t>(caller)))
    return;
  note_unseen(kind, address_of(object));
}

void note_semaphore(const void* semaphore, uint32_t value, bool fresh, bool others_reach_it) {
  if (order_is_for_times) return;
  PassThrough own;
  LockedObject object(OrderObject::semaphore, address_of(semaphore), kMake);
  if (!object || (!fresh && !object.made())) return;
  object->reset(value);
  if (others_reach_it) object->lose_sight();
}

bool knows_semaphore(const void* semaphore) {
  return order_is_for_times || glance(OrderObject::semaphore, address_of(semaphore)) != nullptr;
}

void before_post(const void* semaphore) {
  if (order_is_for_times) return hand_on(OrderObject::semaphore, semaphore);
  KeepErrno keep;
  tell(OrderObject::semaphore, address_of(semaphore), 0, kNoChange);
}

// Wait number n needs post number n - value. Where several threads post, any of them may have let it go.
void after_semaphore_wait(const void* semaphore, Blocked blocked) {
  if (order_is_for_times) return take_over(OrderObject::semaphore, semaphore, 0, blocked);
  KeepErrno keep;
  uint32_t named = 0;
  {
    PassThrough own;
    LockedObject object(OrderObject::semaphore, address_of(semaphore), kLeave);
    if (!object) return;
    ++object->acquires;
    if (object->acquires > object->count)
      named = std::min(object->acquires - object->count, object->sequence);
  }
  if (named == 0) return;
  hear(OrderObject::semaphore, address_of(semaphore), 0, blocked, [named](LockedObject&) { return named; });
}

void note_condition(const void* condition, bool others_reach_it) {
  forget_object(OrderObject::condition, condition);
  if (!others_reach_it) return;
  PassThrough own;
  LockedObject object(OrderObject::condition, address_of(condition), kMake);
  if (object) object->lose_sight();
}

void before_signal(const void* condition) {
  if (order_is_for_times) return hand_on(OrderObject::condition, condition);
  KeepErrno keep;
  tell(OrderObject::condition, address_of(condition), 0, kNoChange);
}

uint32_t begin_condition_wait(const void* condition) {
  if (order_is_for_times) return 0;
  PassThrough own;
  LockedObject object(OrderObject::condition, address_of(condition), kLeave);
  return object ? object->sequence : 0;
}

// One signal at least came since the wait began; of several senders, any.
void after_condition_wait(const void* condition, uint32_t before, Blocked blocked) {
  if (order_is_for_times) return take_over(OrderObject::condition, condition, 0, blocked);
  KeepErrno keep;
  hear(OrderObject::condition, address_of(condition), 0, blocked, [before](LockedObject& object) {
    if (object->sequence <= before) return 0u;
    return before + 1;
  });
}

void note_barrier(const void* barrier, uint32_t threads, bool others_reach_it) {
  PassThrough own;
  LockedObject object(OrderObject::barrier, address_of(barrier), kMake);
  if (!object) return;
  object->reset(threads);
  if (others_reach_it) object->lose_sight();
}

uint32_t before_barrier(const void* barrier) {
  KeepErrno keep;
  uint32_t round = 0;
  tell(OrderObject::barrier, address_of(barrier), kForced,
       [&round](LockedObject& object, OrderRecord& record) {
         if (object->count > 0) round = (object->sequence - 1) / object->count + 1;
         // A round begins before anybody came out of the one before: more threads use the barrier than it
         // counts, and who belongs to which round is not known.
         if (round == 0 || round > object->acquires + 1) {
           object->lose_sight();
           record.flags |= kNotSeen;
         }
         if (record.flags & kNotSeen) record.flags &= static_cast<uint8_t>(~kForced);
       });
  return round;
}

void after_barrier(const void* barrier, uint32_t round, Blocked blocked) {
  KeepErrno keep;
  uint8_t flags = 0;
  {
    PassThrough own;
    LockedObject object(OrderObject::barrier, address_of(barrier), kLeave);
    if (!object) return;
    object->acquires = std::max(object->acquires, round);
    if (!object->unseen()) flags = kForced;
  }
  hear(OrderObject::barrier, address_of(barrier), flags, blocked, [round](LockedObject& object) {
    return round == 0 ? object->sequence : std::min(round * object->count, object->sequence);
  });
}

void forget_object(OrderObject kind, const void* object) {
  if (!glance(kind, address_of(object))) return;
  PassThrough own;
  LockedObject(kind, address_of(object), kLeave).remove();
}

}  // namespace diogenes::agent
