// Vector clocks: how far each stream and each thread has come, as far as somebody knows.
// Streams count their work; threads count the synchronizations that have returned in them. Clocks are sparse,
// because a program may make new streams as long as it runs.
// Source: docs/necessity.md (the order).
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "analysis/necessity/containers/few.h"
#include "analysis/necessity/events.h"

namespace diogenes::necessity {

// A component of a clock: a stream or a thread.
enum class ClockKey : uint32_t {};
inline ClockKey key_of(StreamNumber stream) { return ClockKey{stream.value << 1}; }
inline ClockKey key_of(ThreadNumber thread) { return ClockKey{thread.value << 1 | 1}; }
inline bool is_stream(ClockKey key) { return (static_cast<uint32_t>(key) & 1) == 0; }
inline uint32_t number_of(ClockKey key) { return static_cast<uint32_t>(key) >> 1; }

class Clock {
 public:
  struct Component {
    ClockKey key;
    uint32_t value;
  };

  uint32_t operator[](ClockKey key) const {
    auto at = find(key);
    return at != components_.end() && at->key == key ? at->value : 0;
  }
  bool covers(StreamNumber stream, uint32_t tick) const { return (*this)[key_of(stream)] >= tick; }
  bool includes(const Clock& other) const;
  void raise(ClockKey key, uint32_t value);
  void join(const Clock& other);  // the larger of both, for each component
  void meet(const Clock& other);  // the smaller
  std::span<const Component> components() const { return {components_.begin(), components_.end()}; }
  template <typename Keep>
  void keep_if(Keep keep) {
    components_.erase_if([&](const Component& component) { return !keep(component); });
  }

 private:
  const Component* find(ClockKey key) const {
    if (components_.size() > 8) return find_in_many(key);
    const Component *at = components_.begin(), *end = components_.end();
    while (at != end && at->key < key) ++at;
    return at;
  }
  const Component* find_in_many(ClockKey key) const;
  Few<Component, 4> components_;  // by key; values above 0
};

// What a thread, a stream, an event or a lock stands after.
struct Knowledge {
  Clock solid;     // by what no correction takes: GPU order, program order, hand-overs that force an order
  Clock certain;   // streams only: and by synchronizations, as far as every run has this order
  Clock possible;  // streams only: and by what happened so in this run
  uint64_t visited = 0;  // by which walk over all that is known
  uint32_t holders = 0;  // of SharedKnowledge

  bool includes(const Knowledge& other) const {
    return solid.includes(other.solid) && certain.includes(other.certain) &&
           possible.includes(other.possible);
  }
  void join(const Knowledge& other) {
    solid.join(other.solid);
    certain.join(other.certain);
    possible.join(other.possible);
  }
  void meet(const Knowledge& other) {
    solid.meet(other.solid);
    certain.meet(other.certain);
  }
  void raise(StreamNumber stream, uint32_t tick) {
    solid.raise(key_of(stream), tick);
    certain.raise(key_of(stream), tick);
    possible.raise(key_of(stream), tick);
  }
};

// Knowledge that many can hold, in one thread of the analysis: copied when one of them learns more.
class SharedKnowledge {
 public:
  SharedKnowledge() = default;
  SharedKnowledge(const SharedKnowledge& other) : known_(other.known_) {
    if (known_) ++known_->holders;
  }
  SharedKnowledge(SharedKnowledge&& other) noexcept : known_(std::exchange(other.known_, nullptr)) {}
  SharedKnowledge& operator=(SharedKnowledge other) noexcept {
    std::swap(known_, other.known_);
    return *this;
  }
  ~SharedKnowledge() {
    if (known_ && --known_->holders == 0) delete known_;
  }

  const Knowledge& operator*() const { return *held(); }
  const Knowledge* operator->() const { return held(); }
  Knowledge& edit() {
    if (!known_ || known_->holders > 1) hold_copy();
    return *known_;
  }
  // Adds what the other holds. False if that was nothing new.
  bool learn(const SharedKnowledge& other);
  // For all who hold it: only what nobody asks for may be taken out.
  Knowledge* shared() const { return known_; }

 private:
  static const Knowledge kNothing;
  const Knowledge* held() const { return known_ ? known_ : &kNothing; }
  void hold_copy();
  Knowledge* known_ = nullptr;
};

}  // namespace diogenes::necessity
