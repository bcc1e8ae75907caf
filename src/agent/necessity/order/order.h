// The order of GPU work that streams and events give it, as vector clocks over streams.
// In: the calls that start work, record, wait, create and destroy. Out: for a stream or an event, how much of
// every stream is surely done before it. What the host has learned by waiting is in instances.h.
//
// A stream's work is counted in ticks; a call's tick is given when the call has returned. Whatever is not
// certain is left out here: an order that is believed but not there would call a needed synchronization
// needless. Serialised by the collector's lock.
#pragma once
#include <cstdint>

#include "agent/necessity/order/fixed_map.h"

namespace diogenes::agent {

inline constexpr int kMaximumStreams = 256;
inline constexpr int kMaximumEvents = 4096;

using Slot = uint16_t;  // of a stream
using Tick = uint32_t;  // a stream's work, counted from 1
inline constexpr Slot kNoSlot = 0xffff;

// How much of every stream: ticks up to and including. Beyond `width` all are 0.
struct Clock {
  uint16_t width;
  Tick tick[kMaximumStreams];

  Tick operator[](Slot stream) const { return stream < width ? tick[stream] : 0; }
  void clear() { width = 0; }
  void assign(const Clock& other);
  void raise(Slot stream, Tick to);
  void join(const Clock& other);
};

// What a stream is known by. User streams: the handle alone. Default streams: handle 0 and their context; the
// per-thread one has its thread, too.
struct StreamName {
  uint64_t handle = 0;
  uint64_t context = 0;
  uint32_t thread = 0;  // 0: the legacy default stream

  bool operator==(const StreamName&) const = default;
};

struct Stream {
  StreamName name;
  uint64_t context;  // 0: not known
  enum State : uint8_t { unused, live, destroyed } state;
  bool legacy;       // the legacy default stream of its context
  bool blocking;     // ordered with the legacy default stream, in both directions
  bool certain;      // context and flags are known
  bool page_tables;  // its device reads pageable memory through the CPU's page tables
  Tick ticks;        // work given to it so far; goes on counting when the slot is used again
  Clock clock;       // what its last work is ordered after
};

struct Event {
  Clock clock;  // what its last record is ordered after
  bool recorded;
  bool doubtful;  // it may stand for more than `clock` says
};

class Order {
 public:
  // kNoSlot: never seen.
  Slot find(const StreamName& name);
  // kNoSlot: the table is full. `reusable(slot)` is asked of destroyed streams and settles what still hangs
  // on them.
  template <typename Reusable>
  Slot add(const StreamName& name, uint64_t context, bool blocking, bool certain, Reusable&& reusable);
  void destroy(Slot slot);
  // The context is gone, and its streams with it; its handle may come again.
  void destroy_context(uint64_t context);

  int width() const { return width_; }
  Stream& operator[](Slot slot) { return streams_[slot]; }
  const Stream& operator[](Slot slot) const { return streams_[slot]; }

  // What is done once everything given to the stream so far is done.
  void everything_in(Slot slot, Clock& out) const;
  // The same for what will be started there next: default and blocking streams wait for each other.
  void before_next_in(Slot slot, Clock& out);
  // Work was started after `before`: its tick.
  Tick submit(Slot slot, const Clock& before);

  // Null: no such event (find), no room (find_or_add).
  Event* find_event(uint64_t handle);
  Event* find_or_add_event(uint64_t handle);
  void forget_event(uint64_t handle);

  void reset();

 private:
  static uint64_t key(const StreamName& name);

  Stream streams_[kMaximumStreams];
  int width_;
  FixedMap<Slot, 1024> by_name_;
  Event events_[kMaximumEvents];
  uint16_t free_events_[kMaximumEvents];
  int free_event_count_, fresh_events_;
  FixedMap<uint16_t, 8192> by_handle_;
};

template <typename Reusable>
Slot Order::add(const StreamName& name, uint64_t context, bool blocking, bool certain, Reusable&& reusable) {
  Slot slot = kNoSlot;
  // Few streams are the rule. Used slots come first only when many are in use, because their old work must be
  // settled.
  constexpr int kPlenty = 32;
  auto take_used = [&] {
    for (int i = 0; i < width_ && slot == kNoSlot; ++i)
      if (streams_[i].state == Stream::destroyed && reusable(static_cast<Slot>(i)))
        slot = static_cast<Slot>(i);
  };
  if (width_ >= kPlenty) take_used();
  if (slot == kNoSlot && width_ < kMaximumStreams) slot = static_cast<Slot>(width_);
  if (slot == kNoSlot || !by_name_.insert(key(name), slot)) return kNoSlot;
  if (slot == width_) ++width_;
  Stream& stream = streams_[slot];
  stream.name = name;
  stream.context = context;
  stream.state = Stream::live;
  stream.legacy = name.handle == 0 && name.thread == 0;
  stream.blocking = blocking;
  stream.certain = certain;
  stream.page_tables = false;
  stream.clock.clear();
  return slot;
}

}  // namespace diogenes::agent
