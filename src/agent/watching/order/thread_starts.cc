// Threads start, end and are joined: orders that every run has. A thread is known by its number, which no
// other gets; a pthread_t is used again as soon as its thread is joined.
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

#include "agent/core/running_stage.h"
#include "agent/watching/order/order_records.h"

namespace diogenes::agent {

std::atomic<bool> order_wanted{false}, order_followed{false};

namespace {

// Making a file takes longer than making a thread: where so many come, only those get one that have something to tell.
constexpr uint32_t kFilesOfStarts = 256;

// How many there are beside the main thread, or the one that forked; above that the folder's generation: a count of
// another process is none.
std::atomic<uint64_t> running{0};

int32_t running_of(uint64_t value, uint32_t generation) {
  return value >> 32 == generation ? static_cast<int32_t>(static_cast<uint32_t>(value)) : 0;
}

void count_running(int32_t change) {
  const uint32_t generation = folder_generation();
  uint64_t before = running.load(std::memory_order_relaxed), after;
  do {
    after = uint64_t{generation} << 32 | static_cast<uint32_t>(running_of(before, generation) + change);
  } while (!running.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

// Thread-specific data is destroyed in rounds: ours in the last, when the program's own destructors have run.
pthread_key_t end_key;
void at_thread_end(void* round) {
  auto number = reinterpret_cast<uintptr_t>(round);
  if (number < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(end_key, reinterpret_cast<void*>(number + 1));
    return;
  }
  end_ordered_thread();
  leave_thread_file();
}

}  // namespace

void start_order() {
  // Brought in by the driver, not by LD_PRELOAD: the program's calls do not come here.
  if (dlsym(RTLD_DEFAULT, "pthread_create") != reinterpret_cast<void*>(&pthread_create)) return;
  if (pthread_key_create(&end_key, at_thread_end) != 0) return;
  find_libc();
  order_is_for_times = !stage_uses_guards();
  order_wanted.store(true, std::memory_order_relaxed);
  follow_order(true);
}

void follow_order(bool now) {
  order_followed.store(now && order_wanted.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void before_thread_start(ThreadStart& start) {
  KeepErrno keep;
  start.number = number_new_thread();
  start.file = 0xffffffff;
  if (!recording()) return;
  OrderThread& me = this_thread();
  finish_pending(me);
  PassThrough own;
  if (!prepare(me)) return;
  start.file = me.file;
  OrderRecord record = record_of(OrderObject::thread_start, start.number, kForced);
  record.at_ns = monotonic_now().count;
  record.sequence = 1;
  record.thread = me.file;
  write(record);
}

void note_thread_handle(uint64_t handle, uint32_t number, bool detached) {
  PassThrough own;
  LockedObject object(kThreadHandle, handle, kMake);
  if (!object || object->count >= number) return;  // used again meanwhile
  object->reset(number);
  object->acquires = detached;
}

void begin_ordered_thread(const ThreadStart& start) {
  order_thread.number = start.number;
  count_running(1);
  pthread_setspecific(end_key, reinterpret_cast<void*>(uintptr_t{1}));
  OrderThread& me = this_thread();
  if (!recording()) return;
  PassThrough own;
  me.start_file = start.file;
  me.start_ns = monotonic_now().count;
  me.owes_start = thread_state.owes_order = true;
  if (process_file()->threads >= kFilesOfStarts || !prepare(me)) return;
  if (start.file != 0xffffffff) ++me.learned;
}

void write_start(OrderThread& me) {
  me.owes_start = false;
  OrderRecord record = record_of(OrderObject::thread_start, me.number, kAcquires | kForced);
  record.at_ns = me.start_ns;
  record.sequence = me.start_file != 0xffffffff;
  record.thread = me.start_file;
  write(record);
}

void write_owed_order() {
  KeepErrno keep;
  OrderThread& me = this_thread();
  thread_state.owes_order = false;
  if (me.owes_start) {
    PassThrough own;
    prepare(me);
  }
  finish_futex_wait();
}

uint32_t threads_running() {
  if (!order_wanted.load(std::memory_order_relaxed)) return ~0u;
  const int32_t others = running_of(running.load(std::memory_order_relaxed), folder_generation());
  return others < 0 ? 1 : static_cast<uint32_t>(others) + 1;  // the one that forked may end before others
}

void end_ordered_thread() {
  KeepErrno keep;
  count_running(-1);
  OrderThread& me = this_thread();
  auto handle = static_cast<uint64_t>(pthread_self());
  bool joined = true;
  {
    PassThrough own;
    LockedObject object(kThreadHandle, handle, kLeave);
    if (object && object->count == me.number && object->acquires != 0) {
      joined = false;
      object.remove();
    }
  }
  if (!recording()) return;
  finish_pending(me);
  PassThrough own;
  if (!me.has_file && (version(me) == 0 || !prepare(me))) {
    me.owes_start = thread_state.owes_order = false;  // who joins it says that it ended
    return;
  }
  OrderRecord record = record_of(OrderObject::thread_end, me.number, kForced);
  record.at_ns = monotonic_now().count;
  record.sequence = 1;
  record.thread = me.file;
  if (joined) {
    LockedObject object(OrderObject::thread_end, me.number, kMake);
    if (object) object->file = me.file;
  }
  write(record);
}

void note_detached(uint64_t handle) {
  PassThrough own;
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
  PassThrough own;
  LockedObject object(kThreadHandle, handle, kLeave);
  return object ? object->count : 0;
}

void after_join(uint64_t handle, uint32_t number, Blocked blocked) {
  if (number == 0) return;
  KeepErrno keep;
  {
    PassThrough own;
    OrderRecord record = record_of(OrderObject::thread_end, number, kAcquires | kForced);
    {
      LockedObject object(OrderObject::thread_end, number, kLeave);
      if (object) record.sequence = 1, record.thread = object->file;
      object.remove();
    }
    if (recording() && prepare(this_thread())) {
      finish_pending(this_thread());
      record.at_ns = monotonic_now().count;
      set_blocked(record, blocked);
      write(record);
    }
    LockedObject object(kThreadHandle, handle, kLeave);
    if (object && object->count == number) object.remove();
  }
  after_acquire();
}

}  // namespace diogenes::agent
