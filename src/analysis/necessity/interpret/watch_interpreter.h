// From when to when which range was watched, and who touched it. In: watch, touch, unwatch and memory event
// records, and accesses by other processes, which end no watch. Out: their events, with the memory that a
// range is of at that time.
#pragma once
#include <unordered_map>

#include "analysis/necessity/tables/tables.h"
#include "analysis/runs/peer_accesses.h"

namespace diogenes::necessity {

// Threads are named by their files' ordinals; kNoThread: not known.
class WatchInterpreter {
 public:
  explicit WatchInterpreter(Tables& tables) : tables_(tables) {}

  void take(const WatchRecord& record, uint32_t thread, int64_t at_ns);
  void take(const TouchRecord& record, uint32_t thread, int64_t at_ns);
  void take(const UnwatchRecord& record, uint32_t thread, int64_t at_ns);
  void take(const MemoryEventRecord& record, uint32_t thread, int64_t at_ns);
  void take(const PeerAccess& access, int64_t at_ns);
  // Touches of a thread may be missing from now on: whatever is watched may be touched unseen.
  void lose_sight(int64_t at_ns);
  // The trace is over: what ended and was never raised.
  void finish() { tables_.unclear.watches += early_.size(); }

 private:
  struct Watched {
    WatchNumber number;
    Place place;
  };
  // A touch, or the end of a watch, whose clock was read before that of the watch itself.
  struct Early {
    const TouchRecord* touch = nullptr;
    const UnwatchRecord* unwatch = nullptr;
    uint32_t thread;
  };
  void end(uint32_t watch) { watched_.erase(watch); }
  void take_release(Event event);
  void take_memory_event(bool lives_on, const MemoryEventRecord& record, const Place& place, uint32_t thread,
                         int64_t at_ns);

  Tables& tables_;
  std::unordered_map<uint32_t, Watched> watched_;  // by the agent's number
  std::unordered_map<uint32_t, Early> early_;
  uint32_t next_ = 0;
  bool blind_ = false;
};

}  // namespace diogenes::necessity
