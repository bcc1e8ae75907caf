#include "agent/watching/order/order_records.h"

#include <algorithm>

namespace diogenes::agent {

thread_local constinit OrderThread order_thread;

namespace {

constexpr int64_t kShortest = 2'000;                             // ns
constexpr int64_t kMostAtFirst = 65'536, kOneMoreEach = 50'000;  // ns

std::atomic<uint32_t> threads_numbered{0};

// The analysis asks who releases it: it has to be told of what it does not see.
bool one_sender_matters(OrderObject kind) {
  return kind == OrderObject::semaphore || kind == OrderObject::condition;
}

bool recorded_like_a_lock(OrderObject kind, const Object& object) {
  return kind == OrderObject::mutex || kind == OrderObject::read_write_lock || object.unseen();
}

// False: it has had so many records that the rest are left out.
bool has_room(Object& object, int64_t now) {
  if (order_is_for_times) return true;
  if (object.recorded_ns == 0) object.recorded_ns = now;
  if (object.records < kMostAtFirst + (now - object.recorded_ns) / kOneMoreEach) {
    ++object.records;
    return true;
  }
  count_drop(Drop::orders_full);
  return false;
}

}  // namespace

OrderThread& this_thread() {
  OrderThread& me = order_thread;
  uint32_t generation = folder_generation();
  if (me.number == 0) me.number = number_new_thread();
  if (me.generation != generation) {
    me.generation = generation;
    me.learned = me.told = 0;
    me.has_file = me.awaits_futex = me.owes_start = false;
  }
  return me;
}

uint32_t number_new_thread() { return threads_numbered.fetch_add(1, std::memory_order_relaxed) + 1; }

bool prepare(OrderThread& me) {
  if (me.has_file) return true;
  Undispatched undispatched;
  OperationId id;
  if (!next_operation(id)) return false;
  me.file = id.thread;
  me.has_file = true;
  if (me.owes_start) write_start(me);
  return true;
}

OrderRecord record_of(OrderObject kind, uint64_t address, uint8_t flags) {
  OrderRecord record{};
  record.type = RecordType::order;
  record.object = kind;
  record.flags = flags;
  record.address = address;
  record.thread = 0xffffffff;
  return record;
}

bool has_slept(Blocked blocked) { return blocked.ns >= kShortest; }

void set_blocked(OrderRecord& record, Blocked blocked) {
  if (!has_slept(blocked)) return;
  record.flags |= kBlocked;
  record.blocked_us = static_cast<uint32_t>(std::min<int64_t>(blocked.ns / 1000, 0xffffffff));
}

void write(const OrderRecord& record) {
  Undispatched undispatched;
  append(record);
}

bool release(LockedObject& object, OrderThread& me, OrderRecord& record) {
  Object& it = *object;
  const bool one_sender = one_sender_matters(record.object);
  ++it.sequence;
  if (it.sender == 0) it.sender = me.number;
  if (one_sender && it.sender != me.number) it.lose_sight();
  const bool as_lock = recorded_like_a_lock(record.object, it);
  const uint32_t all = version(me);
  std::atomic<uint64_t>& told = it.told_of(me.number);
  const bool told_all = as_lock ? me.told == all : told.load(std::memory_order_relaxed) == of_thread(me, all);
  const bool tells_more = order_is_for_times ? me.has_file : all != 0 && !told_all;
  if (!tells_more && !(one_sender && it.owes_unseen() && recording())) return false;
  record.at_ns = monotonic_now().count;
  if (!as_lock && !has_room(it, record.at_ns)) it.lose_sight();
  if (it.unseen()) record.flags |= kNotSeen;
  it.said_unseen();
  if (it.heard_by(me.number) >= it.last) it.note_heard(me.number, it.sequence);
  if (it.first == 0) it.first = it.sequence;
  it.last = it.sequence;
  it.file = me.has_file ? me.file : 0xffffffff;
  told.store(of_thread(me, all), std::memory_order_relaxed);
  me.told = all;
  record.sequence = it.sequence;
  record.thread = it.file;
  return true;
}

Heard acquire(LockedObject& object, OrderThread& me, uint32_t sequence, bool slept, OrderRecord& record) {
  Object& it = *object;
  const bool one_sender = one_sender_matters(record.object);
  const bool as_lock = recorded_like_a_lock(record.object, it);
  const uint32_t last = std::min(sequence, it.last);
  const bool hears =
      !as_lock && it.first != 0 && last >= it.first && (order_is_for_times || it.heard_by(me.number) < last);
  if (!hears && !(one_sender && it.owes_unseen()) && !(slept && has_file(me))) return Heard::nothing;
  if (!me.has_file) return Heard::no_file;
  record.at_ns = monotonic_now().count;
  if (!has_room(it, record.at_ns)) {
    if (as_lock) return Heard::nothing;
    it.lose_sight();
  }
  if (it.unseen()) record.flags |= kNotSeen;
  it.said_unseen();
  record.sequence = sequence;
  if (sequence >= it.last) record.thread = it.file;
  if (as_lock) return Heard::recorded;
  it.note_heard(me.number, last);
  // Who had told it all has nothing to tell it because of what it says.
  std::atomic<uint64_t>& told = it.told_of(me.number);
  const uint32_t all = version(me);
  const bool told_all = all == 0 || told.load(std::memory_order_relaxed) == of_thread(me, all);
  ++me.learned;
  if (told_all) told.store(of_thread(me, version(me)), std::memory_order_relaxed);
  return Heard::recorded;
}

}  // namespace diogenes::agent
