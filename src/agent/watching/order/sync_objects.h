// The objects by which threads let each other go on: a fixed table, by address. Nothing is read through the
// address, so an object may disappear at any time. No heap, no lock that outlives a short section; usable in
// a signal handler, where an object that the interrupted thread is just looking at counts as not seen.
//
// In: addresses. Out: an Object each, under its bucket's lock (LockedObject). A full bucket gives up the
// object that was used longest ago: that is counted (Drop::orders_full), and what comes to lie in the bucket
// from then on is marked as not seen.
#pragma once
#include <atomic>
#include <cstdint>

#include "trace/fact_records.h"

namespace diogenes::agent {

inline constexpr uint32_t kOrderBuckets = 2048, kOrderBucketSize = 8;  // 16,384 objects

// Beside the objects of the trace: a pthread_t, whose Object names the thread.
inline constexpr auto kThreadHandle = static_cast<OrderObject>(15);

struct Object {
  static constexpr uint32_t kPlaces = 8;
  // By threads' numbers: what the thread has told the object (order_records.h). Stage 2: whether it alone uses it. Read
  // without the lock: a thread finds its own value only if it wrote it.
  std::atomic<uint64_t> told[kPlaces] = {};
  uint64_t heard[kPlaces] = {};  // the release up to which it has heard of it
  uint32_t sequence = 0;         // releases so far
  uint32_t first = 0;            // the first that was recorded; 0: none
  uint32_t last = 0;             // the last that was recorded
  uint32_t file = 0xffffffff;    // thread file of that; 0xffffffff: not known
  // Stage 2: number and file of the thread that released it last. Read without the lock: a thread finds its own only if no
  // other has released it since.
  std::atomic<uint64_t> teller{0};
  uint32_t sender = 0;    // number of the first thread that released it; stage 2: that used it
  uint32_t records = 0;   // of it
  uint32_t acquires = 0;  // semaphore: waits that succeeded; barrier: rounds that are complete; handle: 1 if
                          // detached
  uint32_t count = 0;     // semaphore: its value at first; barrier: threads; handle: the thread's number
  uint32_t used = 0;      // when it was last used
  bool several = false;   // stage 2: more than one thread uses it
  std::atomic<int64_t> released_ns{0};  // stage 2: by its last user; CLOCK_MONOTONIC
  int64_t recorded_ns = 0;              // its first record; stage 2: its last hand-over

  std::atomic<uint64_t>& told_of(uint32_t thread) { return told[thread % kPlaces]; }
  uint32_t heard_by(uint32_t thread) const {
    const uint64_t value = heard[thread % kPlaces];
    return value >> 32 == thread ? static_cast<uint32_t>(value) : 0;
  }
  void note_heard(uint32_t thread, uint32_t release) {
    heard[thread % kPlaces] = uint64_t{thread} << 32 | release;
  }
  void reset(uint32_t count_now);

  // No order follows from it for certain: something happened to it that was not seen, or several threads release what
  // one alone has to. The next record of it says so.
  bool unseen() const { return sight_.load(std::memory_order_relaxed) != Sight::clear; }
  bool owes_unseen() const { return sight_.load(std::memory_order_relaxed) == Sight::lost; }
  void lose_sight() {
    Sight clear = Sight::clear;
    sight_.compare_exchange_strong(clear, Sight::lost, std::memory_order_relaxed);
  }
  void said_unseen() {
    Sight lost = Sight::lost;
    sight_.compare_exchange_strong(lost, Sight::said, std::memory_order_relaxed);
  }

 private:
  enum class Sight : uint8_t { clear, lost, said };
  std::atomic<Sight> sight_{Sight::clear};
};

// The object's bucket is locked while this lives: no system call meanwhile, no record, no code but ours.
class LockedObject {
 public:
  enum class Absent : uint8_t { make, leave };

  LockedObject(OrderObject kind, uint64_t address, Absent absent);
  ~LockedObject();
  LockedObject(const LockedObject&) = delete;
  LockedObject& operator=(const LockedObject&) = delete;

  explicit operator bool() const { return object_ != nullptr; }
  Object* operator->() const { return object_; }
  Object& operator*() const { return *object_; }
  bool made() const { return made_; }  // just now
  void remove();                       // the object ends

 private:
  uint32_t bucket_;
  uint32_t slot_ = 0;
  Object* object_ = nullptr;
  bool locked_ = false, made_ = false;
};

// Without the lock, for fast paths: null if the object is not in the table. Only its atomic members may be touched, and it
// may become another object at any time.
Object* glance(OrderObject kind, uint64_t address);

// Something happened to the object that is not recorded. Never waits.
void note_unseen(OrderObject kind, uint64_t address);

}  // namespace diogenes::agent
