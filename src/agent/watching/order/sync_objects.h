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

#include "agent/watching/order/knowledge.h"
#include "trace/fact_records.h"

namespace diogenes::agent {

inline constexpr uint32_t kOrderBuckets = 2048, kOrderBucketSize = 8;  // 16,384 objects

// Beside the objects of the trace: a pthread_t, whose Object names the thread.
inline constexpr auto kThreadHandle = static_cast<OrderObject>(15);

struct Object {
  // Who know all that the object tells, and have told it all they know: a thread's number and the version of
  // its knowledge (news.h), at its number's place. Read without the lock: a thread finds its own value only
  // if it wrote it, and nobody told anything since.
  static constexpr uint32_t kPlaces = 4;
  std::atomic<uint64_t> synced[kPlaces] = {};
  uint32_t sequence = 0;       // releases so far
  uint32_t first = 0;          // the first that was recorded; 0: none
  uint32_t last = 0;           // the last that was recorded
  uint32_t file = 0xffffffff;  // thread file of that
  uint32_t teller = 0;         // number of the thread of that
  uint32_t sender = 0;         // number of the first thread that released it
  uint32_t acquires = 0;  // semaphore: waits that succeeded; barrier: rounds that are complete; handle: 1 if
                          // detached
  uint32_t count = 0;     // semaphore: its value at first; barrier: threads; handle: the thread's number
  uint32_t used = 0;      // when it was last used
  bool several = false;   // more than one thread released it
  std::atomic<bool> unseen{false};  // something happened to it that was not seen
  int64_t released_ns = 0;          // stage 2 (hand_overs.h): by its last user; CLOCK_MONOTONIC
  int64_t recorded_ns = 0;          // ... and when a hand-over was recorded last
  Knowledge told;                   // by all releases that were recorded
  Knowledge certainly;              // the part of it that follows in every run

  std::atomic<uint64_t>& synced_of(uint32_t thread) { return synced[thread % kPlaces]; }
  void nobody_synced() {
    for (auto& one : synced) one.store(0, std::memory_order_relaxed);
  }
  void reset(uint32_t count_now);
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
  bool unseen() const;                 // no order follows from it for certain
  void remove();                       // the object ends

 private:
  uint32_t bucket_;
  uint32_t slot_ = 0;
  Object* object_ = nullptr;
  bool locked_ = false, made_ = false;
};

// Without the lock, for the fast path: is the object in the table, and is the thread synced at this value?
enum class Glance : uint8_t { absent, synced, look };
Glance glance(OrderObject kind, uint64_t address, uint32_t thread, uint64_t synced);

// Something happened to the object that is not recorded. Never waits.
void note_unseen(OrderObject kind, uint64_t address);

}  // namespace diogenes::agent
