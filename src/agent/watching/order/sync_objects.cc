// Buckets of eight keys, one cache line each. A key holds the generation of the process folder, so that a
// forked child finds the table empty, whatever state its parent's other threads left it in.
#include "agent/watching/order/sync_objects.h"

#include <sched.h>

#include "agent/core/recording/process_folder.h"
#include "agent/core/recording/recorder.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/order/thread.h"

namespace diogenes::agent {

namespace {

constexpr uint64_t kGone = 1;           // a slot whose object ended; no key has this value
constexpr uint32_t kGenerationAt = 51;  // in a key: above the address and the kind

struct alignas(64) Keys {
  std::atomic<uint64_t> of[kOrderBucketSize];
};
struct BucketState {
  std::atomic<uint32_t> holder{0};  // generation of the holder; 0: free
  std::atomic<uint32_t> unseen{0};  // generation in which something here was lost; 0: none
};

Keys keys[kOrderBuckets];
BucketState states[kOrderBuckets];
Object objects[kOrderBuckets][kOrderBucketSize];
std::atomic<uint32_t> clock_hand{0};

uint64_t key_of(OrderObject kind, uint64_t address, uint32_t generation) {
  return uint64_t{generation} << kGenerationAt | (address & 0x7fff'ffff'ffff) << 4 |
         static_cast<uint64_t>(kind);
}

uint32_t bucket_of(uint64_t key) {
  uint64_t mixed = (key & ((uint64_t{1} << kGenerationAt) - 1)) * 0x9e37'79b9'7f4a'7c15;
  return static_cast<uint32_t>(mixed >> 53) % kOrderBuckets;
}

// False: held by the code that this very thread was interrupted in, or by one that does not come on.
bool lock(BucketState& state, uint32_t generation) {
  constexpr int kSpins = 200, kYields = 100'000;
  for (int turn = 0; turn < kSpins + kYields; ++turn) {
    uint32_t holder = state.holder.load(std::memory_order_relaxed);
    // acquire pairs with the release in ~LockedObject. A holder of an earlier generation does not exist.
    if (holder != generation &&
        state.holder.compare_exchange_weak(holder, generation, std::memory_order_acquire))
      return true;
    __builtin_ia32_pause();
    if (turn < kSpins) continue;
    if (order_thread.holds != 0) return false;
    Undispatched undispatched;
    sched_yield();
  }
  return false;
}

int find(uint32_t bucket, uint64_t key) {
  for (uint32_t i = 0; i < kOrderBucketSize; ++i)
    if (keys[bucket].of[i].load(std::memory_order_acquire) == key) return static_cast<int>(i);
  return -1;
}

// A slot for a new object of the bucket; the one that was used longest ago if there is no free one.
uint32_t free_slot(uint32_t bucket, uint64_t key, uint32_t generation) {
  uint32_t oldest = 0;
  for (uint32_t i = 0; i < kOrderBucketSize; ++i) {
    uint64_t there = keys[bucket].of[i].load(std::memory_order_relaxed);
    if (there == 0 || there == kGone || (there ^ key) >> kGenerationAt != 0) return i;
    if (objects[bucket][i].used - objects[bucket][oldest].used > 0x7fff'ffff) oldest = i;
  }
  count_drop(Drop::orders_full);
  states[bucket].unseen.store(generation, std::memory_order_relaxed);
  return oldest;
}

}  // namespace

void Object::reset(uint32_t count_now) {
  for (auto& one : told) one.store(0, std::memory_order_relaxed);
  for (auto& one : heard) one = 0;
  sequence = first = last = sender = records = acquires = 0;
  file = 0xffffffff;
  teller.store(0, std::memory_order_relaxed);
  recorded_ns = 0;
  count = count_now;
  several = false;
  sight_.store(Sight::clear, std::memory_order_relaxed);
}

LockedObject::LockedObject(OrderObject kind, uint64_t address, Absent absent) {
  uint32_t generation = folder_generation();
  uint64_t key = key_of(kind, address, generation);
  bucket_ = bucket_of(key);
  if (!lock(states[bucket_], generation)) {
    states[bucket_].unseen.store(generation, std::memory_order_relaxed);
    count_drop(Drop::orders_full);
    return;
  }
  locked_ = true;
  ++order_thread.holds;
  int found = find(bucket_, key);
  if (found < 0) {
    if (absent == Absent::leave) return;
    slot_ = free_slot(bucket_, key, generation);
    objects[bucket_][slot_].reset(0);
    // release: whoever finds the key without the lock finds nothing told.
    keys[bucket_].of[slot_].store(key, std::memory_order_release);
    made_ = true;
  } else {
    slot_ = static_cast<uint32_t>(found);
  }
  object_ = &objects[bucket_][slot_];
  if (states[bucket_].unseen.load(std::memory_order_relaxed) == generation) object_->lose_sight();
  object_->used = clock_hand.fetch_add(1, std::memory_order_relaxed);
}

LockedObject::~LockedObject() {
  if (!locked_) return;
  --order_thread.holds;
  states[bucket_].holder.store(0, std::memory_order_release);
}

void LockedObject::remove() {
  if (!object_) return;
  keys[bucket_].of[slot_].store(kGone, std::memory_order_release);
  object_ = nullptr;
}

Object* glance(OrderObject kind, uint64_t address) {
  uint64_t key = key_of(kind, address, folder_generation());
  uint32_t bucket = bucket_of(key);
  int found = find(bucket, key);
  return found < 0 ? nullptr : &objects[bucket][found];
}

void note_unseen(OrderObject kind, uint64_t address) {
  if (Object* object = glance(kind, address)) object->lose_sight();
}

}  // namespace diogenes::agent
