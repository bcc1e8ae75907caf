#include "agent/watching/order/news.h"

#include <algorithm>

namespace diogenes::agent {

thread_local constinit OrderThread order_thread;

namespace {

constexpr uint32_t kNoSource = ~0u;
constexpr int64_t kShortest = 2'000;  // ns; what waits less did not sleep

Knows threads_know[kMaximumThreads];  // by thread file
const Knows knows_nothing{};
std::atomic<uint32_t> threads_numbered{0};

// A number is used again by a thread that knows all that came from it before.
enum class SourceState : uint32_t { in_use = 1, ended = 2 };
struct Source {
  std::atomic<uint32_t> state{0};  // with the folder's generation: in another process it is free
  uint32_t last_news = 0;
};
Source sources[Knowledge::kUnlisted];
std::atomic<uint32_t> unlisted_news{0};

uint32_t marked(SourceState state, uint32_t generation) {
  return generation << 2 | static_cast<uint32_t>(state);
}

void take_source(OrderThread& me) {
  me.source = Knowledge::kUnlisted;
  me.source_base = 0;
  for (uint32_t i = 0; i < Knowledge::kUnlisted; ++i) {
    Source& source = sources[i];
    uint32_t state = source.state.load(std::memory_order_acquire);
    const bool ended = state == marked(SourceState::ended, me.generation);
    if (state == marked(SourceState::in_use, me.generation)) continue;
    if (ended && me.knows->certain.of[i] < source.last_news) continue;
    if (!source.state.compare_exchange_strong(state, marked(SourceState::in_use, me.generation),
                                              std::memory_order_acq_rel))
      continue;
    me.source = i;
    me.source_base = ended ? source.last_news : 0;
    return;
  }
}

bool one_sender_matters(OrderObject kind) {
  return kind == OrderObject::semaphore || kind == OrderObject::condition;
}

// Does every run have the order that such an object makes?
bool is_certain(OrderObject kind, LockedObject& object) {
  switch (kind) {
    case OrderObject::barrier:
    case OrderObject::thread_start:
    case OrderObject::thread_end:
      return !object.unseen();
    case OrderObject::semaphore:
    case OrderObject::condition:
      return !object.unseen() && !object->several;
    default:
      return false;
  }
}

bool has_told_all(const Object& object, const OrderThread& me, const Knows& knows, bool certain) {
  constexpr uint32_t last = Knowledge::kUnlisted;
  if (!object.told.covers(knows.tells)) return false;
  if (certain && !object.certainly.covers(knows.certain)) return false;
  return !knows.tells.unlisted() ||
         (object.teller == me.number && object.told.of[last] >= knows.tells.of[last]);
}

// Does the object tell anything that the thread lacks? What unlisted threads told is always taken for new,
// but by the one that told last.
bool has_news(const Object& object, const OrderThread& me, const Knows& knows, bool certain) {
  return !knows.known.covers(object.told) || (certain && !knows.certain.covers(object.certainly)) ||
         (object.told.unlisted() && object.teller != me.number);
}

void sync_if_equal(Object& object, const OrderThread& me, const Knows& knows, bool certain) {
  if (has_told_all(object, me, knows, certain) && !has_news(object, me, knows, certain))
    object.synced_of(me.number).store(synced_value(me), std::memory_order_relaxed);
}

}  // namespace

OrderThread& this_thread() {
  OrderThread& me = order_thread;
  uint32_t generation = folder_generation();
  if (me.number == 0) me.number = number_new_thread();
  if (me.generation != generation) {
    me.generation = generation;
    me.knows = nullptr;
    me.learned = 0;
    me.awaits_futex = me.owes_start = false;
  }
  return me;
}

uint32_t number_new_thread() { return threads_numbered.fetch_add(1, std::memory_order_relaxed) + 1; }

bool prepare(OrderThread& me) {
  if (me.knows) return true;
  Undispatched undispatched;
  OperationId id;
  if (!next_operation(id)) return false;
  me.file = id.thread;
  me.knows = &threads_know[id.thread];
  *me.knows = {};
  me.source = kNoSource;
  if (me.owes_start) write_start(me);
  return true;
}

Knows& knows_now(OrderThread& me) {
  Knows& knows = *me.knows;
  uint32_t news = own_news();
  if (news == 0) return knows;
  if (me.source == kNoSource) take_source(me);
  uint32_t& mine = knows.tells.of[me.source];
  if (me.source != Knowledge::kUnlisted) {
    mine = me.source_base + news;
  } else if (me.source_base != news) {  // here: how much it had when it counted last
    me.source_base = news;
    mine = unlisted_news.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  knows.certain.of[me.source] = knows.known.of[me.source] = mine;
  return knows;
}

void end_source(OrderThread& me) {
  if (!me.knows || me.source >= Knowledge::kUnlisted) return;
  sources[me.source].last_news = me.knows->tells.of[me.source];
  sources[me.source].state.store(marked(SourceState::ended, me.generation), std::memory_order_release);
  me.source = Knowledge::kUnlisted;
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

void set_blocked(OrderRecord& record, Blocked blocked) {
  if (blocked.ns < kShortest) return;
  record.flags |= kBlocked;
  record.blocked_us = static_cast<uint32_t>(std::min<int64_t>(blocked.ns / 1000, 0xffffffff));
}

void write(const OrderRecord& record) {
  Undispatched undispatched;
  append(record);
}

bool release(LockedObject& object, OrderThread& me, OrderRecord& record) {
  Object& it = *object;
  ++it.sequence;
  if (it.sender == 0) it.sender = me.number;
  if (it.sender != me.number) it.several = true;
  bool tells = false;
  if (me.knows && order_is_for_times) {
    tells = true;
    if (!it.first) it.first = it.sequence;
    it.last = it.sequence;
    it.file = me.file;
    record.at_ns = monotonic_now().count;
  } else if (me.knows && version(me) != 0 &&
             it.synced_of(me.number).load(std::memory_order_relaxed) != synced_value(me)) {
    const Knows& knows = knows_now(me);
    bool certain = is_certain(record.object, object);
    tells = !has_told_all(it, me, knows, certain);
    if (tells) {
      if (!it.first) it.first = it.sequence;
      it.last = it.sequence;
      it.file = me.file;
      // What the thread did not know of the object before, it does not know by telling.
      bool knew_all = !has_news(it, me, knows, certain);
      it.told.add(knows.tells);
      if (certain) it.certainly.add(knows.certain);
      it.teller = me.number;
      it.nobody_synced();
      if (knew_all) it.synced_of(me.number).store(synced_value(me), std::memory_order_relaxed);
      record.at_ns = monotonic_now().count;
    } else {
      sync_if_equal(it, me, knows, certain);
    }
  }
  // The analysis asks whether one thread alone releases it: it does not see this one.
  if (!tells && it.several && one_sender_matters(record.object))
    it.unseen.store(true, std::memory_order_relaxed);
  record.sequence = it.sequence;
  record.thread = me.knows ? me.file : 0xffffffff;
  if (object.unseen()) record.flags |= kNotSeen;
  return tells;
}

Heard acquire(LockedObject& object, OrderThread& me, uint32_t sequence, OrderRecord& record) {
  Object& it = *object;
  if (it.first == 0 || sequence < it.first) return Heard::nothing;
  if (order_is_for_times) {
    if (!me.knows) return Heard::no_file;
    record.at_ns = monotonic_now().count;
    record.sequence = sequence;
    return Heard::news;
  }
  if (it.synced_of(me.number).load(std::memory_order_relaxed) == synced_value(me)) return Heard::nothing;
  const Knows& before = me.knows ? knows_now(me) : knows_nothing;
  bool certain = is_certain(record.object, object);
  if (!has_news(it, me, before, certain)) {
    if (me.knows) sync_if_equal(it, me, before, certain);
    return Heard::nothing;
  }
  if (!me.knows) return Heard::no_file;
  record.at_ns = monotonic_now().count;
  record.sequence = sequence;
  if (sequence >= it.last || !it.several) record.thread = it.file;
  if (object.unseen()) record.flags |= kNotSeen;
  Knows& knows = *me.knows;
  knows.tells.add(it.told);
  if (sequence >= it.last) {
    knows.known.add(it.told);
    if (certain) knows.certain.add(it.certainly);
  }
  ++me.learned;
  sync_if_equal(it, me, knows, certain);
  return Heard::news;
}

}  // namespace diogenes::agent
