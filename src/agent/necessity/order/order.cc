#include "agent/necessity/order/order.h"

namespace diogenes::agent {

void Clock::assign(const Clock& other) {
  width = other.width;
  for (int i = 0; i < other.width; ++i) tick[i] = other.tick[i];
}

void Clock::raise(Slot stream, Tick to) {
  while (width <= stream) tick[width++] = 0;
  if (tick[stream] < to) tick[stream] = to;
}

void Clock::join(const Clock& other) {
  while (width < other.width) tick[width++] = 0;
  for (int i = 0; i < other.width; ++i)
    if (tick[i] < other.tick[i]) tick[i] = other.tick[i];
}

// Mixed, so two names may meet in one key: find() compares the names, and add() refuses the second.
uint64_t Order::key(const StreamName& name) {
  if (name.handle != 0) return name.handle;
  uint64_t mixed = name.context * 0x9e3779b97f4a7c15 ^ (static_cast<uint64_t>(name.thread) << 20);
  return mixed | 1;  // handles are even
}

Slot Order::find(const StreamName& name) {
  Slot* slot = by_name_.find(key(name));
  return slot && streams_[*slot].name == name ? *slot : kNoSlot;
}

void Order::destroy(Slot slot) {
  by_name_.erase(key(streams_[slot].name));
  streams_[slot].state = Stream::destroyed;
}

void Order::destroy_context(uint64_t context) {
  if (context == 0) return;
  for (int i = 0; i < width_; ++i) {
    Stream& stream = streams_[i];
    if (stream.context != context) continue;
    if (stream.state == Stream::live) destroy(static_cast<Slot>(i));
    stream.context = ~0ull;  // no context that can come again
  }
}

void Order::everything_in(Slot slot, Clock& out) const {
  out.assign(streams_[slot].clock);
  out.raise(slot, streams_[slot].ticks);
}

void Order::before_next_in(Slot slot, Clock& out) {
  everything_in(slot, out);
  const Stream& stream = streams_[slot];
  if (!stream.certain || !stream.blocking) return;
  auto wait_for = [&](Slot other) {
    out.join(streams_[other].clock);
    out.raise(other, streams_[other].ticks);
  };
  if (stream.legacy) {
    for (int i = 0; i < width_; ++i) {
      const Stream& other = streams_[i];
      if (i != slot && other.state != Stream::unused && other.certain && other.blocking &&
          other.context == stream.context)
        wait_for(static_cast<Slot>(i));
    }
  } else {
    Slot legacy = find({0, stream.context, 0});
    if (legacy != kNoSlot) wait_for(legacy);
  }
}

Tick Order::submit(Slot slot, const Clock& before) {
  Stream& stream = streams_[slot];
  stream.clock.join(before);
  return ++stream.ticks;
}

Event* Order::find_event(uint64_t handle) {
  uint16_t* index = by_handle_.find(handle);
  return index ? &events_[*index] : nullptr;
}

Event* Order::find_or_add_event(uint64_t handle) {
  if (Event* event = find_event(handle)) return event;
  uint16_t index;
  if (free_event_count_ > 0)
    index = free_events_[--free_event_count_];
  else if (fresh_events_ < kMaximumEvents)
    index = static_cast<uint16_t>(fresh_events_++);
  else
    return nullptr;
  if (!by_handle_.insert(handle, index)) {
    free_events_[free_event_count_++] = index;
    return nullptr;
  }
  Event& event = events_[index];
  event.clock.clear();
  event.recorded = event.doubtful = false;
  return &event;
}

void Order::forget_event(uint64_t handle) {
  uint16_t* index = by_handle_.find(handle);
  if (!index) return;
  free_events_[free_event_count_++] = *index;
  by_handle_.erase(handle);
}

void Order::reset() {
  for (int i = 0; i < width_; ++i) {
    streams_[i].state = Stream::unused;
    streams_[i].ticks = 0;
  }
  width_ = 0;
  by_name_.clear();
  by_handle_.clear();
  free_event_count_ = fresh_events_ = 0;
}

}  // namespace diogenes::agent
