// Kernels that may poll memory of the GPU's own, such as a mailbox, until other work writes it.
//
// No argument says that a kernel polls. But where the program gives work that writes what a pending kernel was
// given, and nothing orders the two, the kernel either polls it, or works on another part of the block, or the
// program has a race. So it counts as work that may wait for the CPU, which gives what lets it go. That is seen
// when the write comes, and has to be known when the kernel does: the events are judged once more.
// Only small copies, fills and values count as such writes: the bytes of a large copy come in no order, so
// whoever polled one of them could not rely on the others, and programs often upload to one part of a block
// while kernels work on another. Of what kernels are given, it is not known what they write. (Kernels that set
// flags for each other are not seen.)
#pragma once
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "analysis/necessity/events.h"

namespace diogenes::necessity {

// Pieces of work, by their stream and their place in it, from 1.
class Works {
 public:
  void add(StreamNumber stream, uint32_t tick) { keys_.insert(key(stream, tick)); }
  bool contains(StreamNumber stream, uint32_t tick) const { return keys_.contains(key(stream, tick)); }
  bool empty() const { return keys_.empty(); }

 private:
  static uint64_t key(StreamNumber stream, uint32_t tick) { return uint64_t{stream.value} << 32 | tick; }
  std::unordered_set<uint64_t> keys_;
};

// A flag for each block of a kernel's, and no batch of data.
inline constexpr uint64_t kMostBytesOfFlags = 4096;

// May the access be a look of a kernel's at what `write` writes?
inline bool may_poll(const Access& access, const Access& write) {
  return access.argument && write.writes && !write.argument && write.memory.valid() &&
         write.range.size() <= kMostBytesOfFlags;
}

// Hands events on; what is among `gates` may wait for the CPU.
class GateMarker : public EventSink {
 public:
  GateMarker(const Works& gates, EventSink& to) : gates_(gates), to_(to) {}
  void take(const Event& event) override {
    if (event.kind == EventKind::stream_ends) ticks_.erase(event.stream.value);
    if (event.kind != EventKind::work || !gates_.contains(event.stream, ++ticks_[event.stream.value]))
      return to_.take(event);
    Event gate = event;
    gate.gate = true;
    to_.take(gate);
  }

 private:
  const Works& gates_;
  EventSink& to_;
  std::unordered_map<uint32_t, uint32_t> ticks_;
};

}  // namespace diogenes::necessity
