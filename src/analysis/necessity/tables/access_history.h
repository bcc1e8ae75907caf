// Who last read and wrote each memory, stream by stream: is all of it certainly before a piece of work?
// In: work with its place in the order. Out: what may still be under way beside it.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/necessity/events.h"
#include "analysis/necessity/order/vector_clock.h"

namespace diogenes::necessity {

class AccessHistory {
 public:
  // Work was given; `kernel`: it reaches memory by what its arguments name.
  void note(const Event& work, uint32_t tick, bool kernel);
  void forget(MemoryNumber memory) { memories_.erase(memory); }

  // Of other streams: all work that may read (write) the memory is before what knows `certain`.
  bool reads_are_before(const Clock& certain, MemoryNumber memory, StreamNumber own) const;
  bool writes_are_before(const Clock& certain, MemoryNumber memory, StreamNumber own) const;
  // The same of pageable memory that a call reads itself: GPU work that was not given it cannot reach it.
  bool staged_source_is_stable(const Clock& certain, MemoryNumber memory) const;
  // All work that may reach any memory is.
  bool unknown_work_is_before(const Clock& certain, StreamNumber own) const;
  // A kernel may run beside it.
  bool kernels_are_before(const Clock& certain, StreamNumber own) const;
  uint64_t kernels() const { return kernel_count_; }  // given so far

 private:
  using Ticks = std::vector<std::pair<StreamNumber, uint32_t>>;  // the last of each stream
  struct OfMemory {
    Ticks reads, writes;
  };
  static void raise(Ticks& ticks, StreamNumber stream, uint32_t tick);
  static bool are_before(const Ticks& ticks, const Clock& certain, StreamNumber own);
  bool are_before(Ticks OfMemory::*which, const Clock& certain, MemoryNumber memory, StreamNumber own) const;

  std::unordered_map<MemoryNumber, OfMemory> memories_;
  Ticks unknown_, kernels_;
  Ticks unknown_pageable_;  // of unknown_, and of work with effects that cannot be watched
  uint64_t kernel_count_ = 0;
};

}  // namespace diogenes::necessity
