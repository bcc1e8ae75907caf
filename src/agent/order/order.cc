// Who knows what. Each thread keeps two sets: what it knows for certain, and what it may tell, which is more
// where an acquire named an earlier release than the last (a semaphore with several tokens). An acquire is
// recorded if the object tells anything that the thread does not know for certain; a release, if the thread
// may tell anything that the object does not tell yet.
#include "agent/order/order.h"

#include <limits.h>
#include <pthread.h>

#include <algorithm>

#include "agent/order/objects.h"
#include "agent/order/thread.h"
#include "agent/pass_through.h"
#include "agent/process_folder.h"
#include "agent/recorder.h"
#include "base/units.h"

namespace diogenes::agent {

thread_local constinit OrderThread order_thread;
std::atomic<bool> order_wanted{false};

struct Knows {
  Knowledge certain, tells;
};

namespace {

constexpr uint32_t kNoSource = ~0u;

Knows threads_know[kMaximumThreads];  // by thread file
const Knows knows_nothing{};
std::atomic<uint32_t> threads_numbered{0};

// Of the folder's generation; a number is used again by a thread that knows all that came from it before.
struct Source {
  std::atomic<uint32_t> state{0};  // 0: free, 1: in use, 2: its thread has ended
  uint32_t last_news = 0;
};
Source sources[Knowledge::kUnlisted];
std::atomic<uint32_t> sources_generation{0};
std::atomic<uint32_t> unlisted_news{0};

OrderThread& this_thread() {
  OrderThread& me = order_thread;
  uint32_t generation = folder_generation();
  if (me.number == 0) me.number = threads_numbered.fetch_add(1, std::memory_order_relaxed) + 1;
  if (me.generation != generation) {
    me.generation = generation;
    me.knows = nullptr;
    me.learned = 0;
    me.awaits_futex = false;
    if (sources_generation.exchange(generation, std::memory_order_relaxed) != generation)
      for (auto& source : sources) source.state.store(0, std::memory_order_relaxed);
  }
  return me;
}

uint32_t own_news() {
  const ThreadState& state = thread_state;
  return state.file_generation == folder_generation() ? state.news : 0;
}

uint32_t version(const OrderThread& me) { return own_news() + me.learned; }
uint64_t synced_value(const OrderThread& me) { return uint64_t{me.number} << 32 | version(me); }

void take_source(OrderThread& me) {
  me.source = Knowledge::kUnlisted;
  me.source_base = 0;
  for (uint32_t i = 0; i < Knowledge::kUnlisted; ++i) {
    Source& source = sources[i];
    uint32_t state = source.state.load(std::memory_order_acquire);
    if (state == 1 || (state == 2 && me.knows->certain.of[i] < source.last_news)) continue;
    if (!source.state.compare_exchange_strong(state, 1, std::memory_order_acq_rel)) continue;
    me.source = i;
    me.source_base = state == 2 ? source.last_news : 0;
    return;
  }
}

// Makes the thread's file if there is none. False: it cannot record. Not under an object's lock.
bool prepare(OrderThread& me) {
  if (me.knows) return true;
  Undispatched undispatched;
  OperationId id;
  if (!next_operation(id)) return false;
  me.file = id.thread;
  me.knows = &threads_know[id.thread];
  *me.knows = {};
  me.source = kNoSource;
  return true;
}

// With its own latest news.
Knows& knows_now(OrderThread& me) {
  uint32_t news = own_news();
  if (news == 0) return *me.knows;
  if (me.source == kNoSource) take_source(me);
  if (me.source != Knowledge::kUnlisted) {
    me.knows->certain.of[me.source] = me.knows->tells.of[me.source] = me.source_base + news;
  } else if (me.source_base != news) {  // here: how much it had when it counted last
    me.source_base = news;
    me.knows->certain.of[me.source] = me.knows->tells.of[me.source] =
        unlisted_news.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return *me.knows;
}

bool recording() { return process_file() != nullptr; }

void write(const OrderRecord& record) {
  Undispatched undispatched;
  append(record);
}

OrderRecord record_of(OrderObject kind, uint64_t address, uint8_t flags) {
  OrderRecord record{};
  record.type = RecordType::order;
  record.object = kind;
  record.flags = flags;
  record.at_ns = monotonic_now().count;
  record.address = address;
  record.thread = 0xffffffff;
  return record;
}

bool has_told_all(const Object& object, const OrderThread& me, const Knowledge& mine) {
  constexpr uint32_t last = Knowledge::kUnlisted;
  return object.told.covers(mine) &&
         (!mine.unlisted() || (object.teller == me.number && object.told.of[last] >= mine.of[last]));
}

// Does the object tell anything that `known` lacks? What unlisted threads told is always taken for new, but
// by the one that told last.
bool has_news(const Object& object, const OrderThread& me, const Knowledge& known) {
  return !known.covers(object.told) || (object.told.unlisted() && object.teller != me.number);
}

void sync_if_equal(Object& object, const OrderThread& me, const Knows& knows) {
  if (has_told_all(object, me, knows.tells) && !has_news(object, me, knows.certain))
    object.synced.store(synced_value(me), std::memory_order_relaxed);
}

bool one_sender_matters(OrderObject kind) {
  return kind == OrderObject::semaphore || kind == OrderObject::condition;
}

// One more release. True: `record` is to be written. `prepare` has succeeded, or the thread has nothing to
// tell.
bool release(LockedObject& object, OrderThread& me, OrderRecord& record) {
  Object& it = *object;
  ++it.sequence;
  if (it.sender == 0) it.sender = me.number;
  if (it.sender != me.number) it.several = true;
  bool tells = false;
  if (me.knows && version(me) != 0 && it.synced.load(std::memory_order_relaxed) != synced_value(me)) {
    Knows& knows = knows_now(me);
    tells = !has_told_all(it, me, knows.tells);
    if (tells) {
      if (!it.first) it.first = it.sequence;
      it.last = it.sequence;
      it.file = me.file;
      bool knew_all = !has_news(it, me, knows.certain);
      it.told.add(knows.tells);
      it.teller = me.number;
      if (!knew_all)
        it.synced.store(0, std::memory_order_relaxed);
      else
        sync_if_equal(it, me, knows);
    } else {
      sync_if_equal(it, me, knows);
    }
  }
  // The analysis asks whether one thread alone releases it: it does not see this one.
  if (!tells && it.several && one_sender_matters(record.object))
    it.unseen.store(true, std::memory_order_relaxed);
  record.sequence = it.sequence;
  record.thread = me.file;
  if (object.unseen()) record.flags |= kNotSeen;
  return tells;
}

enum class Heard : uint8_t { nothing, news, no_file };

// The thread goes on because of release `sequence` and those before it.
Heard acquire(LockedObject& object, OrderThread& me, uint32_t sequence, OrderRecord& record) {
  Object& it = *object;
  if (it.first == 0 || sequence < it.first) return Heard::nothing;
  if (it.synced.load(std::memory_order_relaxed) == synced_value(me)) return Heard::nothing;
  const Knows& before = me.knows ? knows_now(me) : knows_nothing;
  if (!has_news(it, me, before.certain)) {
    if (me.knows) sync_if_equal(it, me, before);
    return Heard::nothing;
  }
  if (!me.knows) return Heard::no_file;
  record.sequence = sequence;
  record.thread = it.file;
  if (object.unseen()) record.flags |= kNotSeen;
  me.knows->tells.add(it.told);
  if (sequence >= it.last) me.knows->certain.add(it.told);
  ++me.learned;
  sync_if_equal(it, me, *me.knows);
  return Heard::news;
}

constexpr int64_t kShortest = 2'000;  // ns; what waits less did not sleep

void set_blocked(OrderRecord& record, Blocked blocked) {
  if (blocked.ns < kShortest) return;
  record.flags |= kBlocked;
  record.blocked_us = static_cast<uint32_t>(std::min<int64_t>(blocked.ns / 1000, 0xffffffff));
}

uint64_t address_of(const void* object) { return reinterpret_cast<uint64_t>(object); }

void finish_pending(const OrderThread& me) {
  if (me.awaits_futex) finish_futex_wait();
}

// `sequence(object)`: the release that the acquire follows, 0: none; called again where the file had to be
// made first, so it must change nothing.
template <typename Sequence>
void hear(OrderObject kind, uint64_t address, uint8_t flags, Blocked blocked, Sequence&& sequence) {
  OrderThread& me = this_thread();
  finish_pending(me);
  if (!recording()) return;
  {
    PassThrough pass;  // to the end: a handler's records come before this one or after it
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

template <typename Change>
void tell(OrderObject kind, uint64_t address, uint8_t flags, LockedObject::Absent absent, Change&& change) {
  OrderThread& me = this_thread();
  finish_pending(me);
  PassThrough pass;
  OrderRecord record{};
  bool tells = false;
  if (recording() && version(me) != 0) prepare(me);
  {
    LockedObject object(kind, address, absent);
    if (!object) return;
    record = record_of(kind, address, flags);
    tells = release(object, me, record);
    change(object, record);
  }
  if (tells) write(record);
}

// Thread-specific data is destroyed in rounds: ours in the last, when the program's own destructors have run.
pthread_key_t end_key;
void at_thread_end(void* round) {
  auto number = reinterpret_cast<uintptr_t>(round);
  if (number < PTHREAD_DESTRUCTOR_ITERATIONS)
    pthread_setspecific(end_key, reinterpret_cast<void*>(number + 1));
  else
    end_ordered_thread();
}

constexpr auto kNoChange = [](LockedObject&, OrderRecord&) {};
constexpr auto kMake = LockedObject::Absent::make;
constexpr auto kLeave = LockedObject::Absent::leave;

}  // namespace

void start_order() {
  if (pthread_key_create(&end_key, at_thread_end) != 0) return;
  order_wanted.store(true, std::memory_order_relaxed);
}

void before_unlock(OrderObject kind, const void* lock, uint8_t flags) {
  if (!recording()) return;
  const OrderThread& me = order_thread;
  // A number that is 0, or of an earlier generation, has no version: it goes the long road once.
  if (me.generation == folder_generation()) {
    if (version(me) == 0 || glance(kind, address_of(lock), synced_value(me)) == Glance::synced) return;
  } else if (own_news() == 0) {
    return;
  }
  KeepErrno keep;
  tell(kind, address_of(lock), flags, kMake, kNoChange);
}

void after_lock(OrderObject kind, const void* lock, uint8_t flags, Blocked blocked) {
  if (!recording()) return;
  const OrderThread& me = order_thread;
  if (glance(kind, address_of(lock), synced_value(me)) != Glance::look && !me.awaits_futex) return;
  KeepErrno keep;
  hear(kind, address_of(lock), flags, blocked, [](LockedObject& object) { return object->sequence; });
}

void note_unfollowed(OrderObject kind, const void* object, const void* caller) {
  if (!order_wanted.load(std::memory_order_relaxed) || in_driver_code(reinterpret_cast<uintptr_t>(caller)))
    return;
  note_unseen(kind, address_of(object));
}

void note_semaphore(const void* semaphore, uint32_t value, bool fresh, bool others_reach_it) {
  PassThrough pass;
  LockedObject object(OrderObject::semaphore, address_of(semaphore), kMake);
  if (!object || (!fresh && !object.made())) return;
  object->reset(value);
  object->unseen.store(others_reach_it, std::memory_order_relaxed);
}

bool knows_semaphore(const void* semaphore) {
  return glance(OrderObject::semaphore, address_of(semaphore), 0) != Glance::absent;
}

void before_post(const void* semaphore) {
  KeepErrno keep;
  tell(OrderObject::semaphore, address_of(semaphore), 0, kMake, kNoChange);
}

// Wait number n needs post number n - value. Where several threads post, any of them may have let it go.
void after_semaphore_wait(const void* semaphore, Blocked blocked) {
  KeepErrno keep;
  uint32_t named = 0;
  {
    PassThrough pass;
    LockedObject object(OrderObject::semaphore, address_of(semaphore), kLeave);
    if (!object) return;
    ++object->acquires;
    if (object->acquires > object->count)
      named =
          object->several ? object->sequence : std::min(object->acquires - object->count, object->sequence);
  }
  if (named == 0) return;
  hear(OrderObject::semaphore, address_of(semaphore), 0, blocked, [named](LockedObject&) { return named; });
}

void before_signal(const void* condition) {
  KeepErrno keep;
  tell(OrderObject::condition, address_of(condition), 0, kMake, kNoChange);
}

uint32_t begin_condition_wait(const void* condition) {
  PassThrough pass;
  LockedObject object(OrderObject::condition, address_of(condition), kLeave);
  return object ? object->sequence : 0;
}

// One signal at least came since the wait began; of several senders, any.
void after_condition_wait(const void* condition, uint32_t before, Blocked blocked) {
  KeepErrno keep;
  hear(OrderObject::condition, address_of(condition), 0, blocked, [before](LockedObject& object) {
    if (object->sequence <= before) return 0u;
    return object->several ? object->sequence : before + 1;
  });
}

void note_barrier(const void* barrier, uint32_t threads, bool others_reach_it) {
  PassThrough pass;
  LockedObject object(OrderObject::barrier, address_of(barrier), kMake);
  if (!object) return;
  object->reset(threads);
  object->unseen.store(others_reach_it, std::memory_order_relaxed);
}

uint32_t before_barrier(const void* barrier) {
  KeepErrno keep;
  uint32_t round = 0;
  tell(OrderObject::barrier, address_of(barrier), kForced, kMake,
       [&round](LockedObject& object, OrderRecord& record) {
         if (object->count > 0) round = (object->sequence - 1) / object->count + 1;
         // A round begins before anybody came out of the one before: more threads use the barrier than it
         // counts, and who belongs to which round is not known.
         if (round == 0 || round > object->acquires + 1) {
           object->unseen.store(true, std::memory_order_relaxed);
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
    PassThrough pass;
    LockedObject object(OrderObject::barrier, address_of(barrier), kLeave);
    if (!object) return;
    object->acquires = std::max(object->acquires, round);
    if (!object.unseen()) flags = kForced;
  }
  hear(OrderObject::barrier, address_of(barrier), flags, blocked, [round](LockedObject& object) {
    return round == 0 ? object->sequence : std::min(round * object->count, object->sequence);
  });
}

void forget_object(OrderObject kind, const void* object) {
  if (glance(kind, address_of(object), 0) == Glance::absent) return;
  PassThrough pass;
  LockedObject(kind, address_of(object), kLeave).remove();
}

void before_futex_wake(uint64_t address) {
  if (!recording() || version(this_thread()) == 0) return;
  KeepErrno keep;
  tell(OrderObject::futex, address, 0, kMake, kNoChange);
}

void before_futex_wait(uint64_t address) {
  KeepErrno keep;
  OrderThread& me = this_thread();
  finish_pending(me);
  me.futex = address;
  me.awaits_futex = true;
  thread_state.awaits_futex = true;
  ++me.learned;  // the next lock takes the long road, and finishes this first
}

void finish_futex_wait() {
  KeepErrno keep;
  OrderThread& me = this_thread();
  thread_state.awaits_futex = false;
  if (!me.awaits_futex) return;
  me.awaits_futex = false;
  hear(OrderObject::futex, me.futex, 0, {}, [](LockedObject& object) { return object->sequence; });
}

void before_thread_start(ThreadStart& start) {
  KeepErrno keep;
  start.number = threads_numbered.fetch_add(1, std::memory_order_relaxed) + 1;
  start.file = 0xffffffff;
  start.told = {};
  if (!recording()) return;
  OrderThread& me = this_thread();
  finish_pending(me);
  PassThrough pass;
  if (version(me) == 0 || !prepare(me)) return;
  start.told = knows_now(me).tells;
  start.file = me.file;
  OrderRecord record = record_of(OrderObject::thread_start, start.number, kForced);
  record.sequence = 1;
  record.thread = me.file;
  write(record);
}

void note_thread_handle(uint64_t handle, uint32_t number, bool detached) {
  PassThrough pass;
  LockedObject object(kThreadHandle, handle, kMake);
  if (!object || object->count >= number) return;  // given out again meanwhile
  object->reset(number);
  object->acquires = detached;
}

void begin_ordered_thread(const ThreadStart& start) {
  order_thread.number = start.number;
  pthread_setspecific(end_key, reinterpret_cast<void*>(uintptr_t{1}));
  OrderThread& me = this_thread();
  if (!recording()) return;
  PassThrough pass;
  if (!prepare(me)) return;
  me.knows->certain.add(start.told);
  me.knows->tells.add(start.told);
  bool told = start.file != 0xffffffff;
  if (told) ++me.learned;
  OrderRecord record = record_of(OrderObject::thread_start, start.number, kAcquires | kForced);
  record.sequence = told;
  record.thread = start.file;
  write(record);
}

void end_ordered_thread() {
  KeepErrno keep;
  OrderThread& me = this_thread();
  auto handle = static_cast<uint64_t>(pthread_self());
  bool joined = true;
  {
    PassThrough pass;
    LockedObject object(kThreadHandle, handle, kLeave);
    if (object && object->count == me.number && object->acquires != 0) {
      joined = false;
      object.remove();
    }
  }
  if (!recording()) return;
  finish_pending(me);
  PassThrough pass;
  if (version(me) == 0 && !me.knows) return;
  if (!prepare(me)) return;
  OrderRecord record = record_of(OrderObject::thread_end, me.number, kForced);
  record.sequence = 1;
  record.thread = me.file;
  if (joined) {
    LockedObject object(OrderObject::thread_end, me.number, kMake);
    if (object) {
      release(object, me, record);
      if (!object->first) object->first = object->last = 1, object->file = me.file;
    }
  }
  write(record);
  if (me.source < Knowledge::kUnlisted && me.source_base + own_news() > 0) {
    sources[me.source].last_news = me.source_base + own_news();
    sources[me.source].state.store(2, std::memory_order_release);
    me.source = Knowledge::kUnlisted;
  }
}

void note_detached(uint64_t handle) {
  PassThrough pass;
  uint32_t number = 0;
  {
    LockedObject object(kThreadHandle, handle, kLeave);
    if (!object) return;
    number = object->count;
    object->acquires = 1;
  }
  LockedObject(OrderObject::thread_end, number, kLeave).remove();
}

uint32_t number_of_thread(uint64_t handle) {
  PassThrough pass;
  LockedObject object(kThreadHandle, handle, kLeave);
  return object ? object->count : 0;
}

void after_join(uint64_t handle, uint32_t number, Blocked blocked) {
  if (number == 0) return;
  KeepErrno keep;
  hear(OrderObject::thread_end, number, kForced, blocked, [](LockedObject& object) { return object->last; });
  PassThrough pass;
  LockedObject(OrderObject::thread_end, number, kLeave).remove();
  LockedObject object(kThreadHandle, handle, kLeave);
  if (object && object->count == number) object.remove();
}

}  // namespace diogenes::agent
