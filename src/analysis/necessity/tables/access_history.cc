#include "analysis/necessity/tables/access_history.h"

namespace diogenes::necessity {

void AccessHistory::raise(Ticks& ticks, StreamNumber stream, uint32_t tick) {
  for (auto& [known, last] : ticks) {
    if (known != stream) continue;
    last = tick;
    return;
  }
  ticks.emplace_back(stream, tick);
}

bool AccessHistory::are_before(const Ticks& ticks, const Clock& certain, StreamNumber own) {
  return std::all_of(ticks.begin(), ticks.end(), [&](const auto& each) {
    return each.first == own || certain.covers(each.first, each.second);
  });
}

void AccessHistory::note(const Event& work, uint32_t tick, bool kernel) {
  for (const Access& access : work.accesses) {
    if (!access.memory.valid()) {
      raise(unknown_, work.stream, tick);
      if (access.pageable) raise(unknown_pageable_, work.stream, tick);
      continue;
    }
    OfMemory& memory = memories_[access.memory];
    raise(access.writes ? memory.writes : memory.reads, work.stream, tick);
  }
  if (work.blind != 0) raise(unknown_pageable_, work.stream, tick);
  if (!kernel) return;
  raise(kernels_, work.stream, tick);
  ++kernel_count_;
}

bool AccessHistory::are_before(Ticks OfMemory::*which, const Clock& certain, MemoryNumber memory,
                               StreamNumber own) const {
  auto found = memories_.find(memory);
  return unknown_work_is_before(certain, own) &&
         (found == memories_.end() || are_before(found->second.*which, certain, own));
}

bool AccessHistory::reads_are_before(const Clock& certain, MemoryNumber memory, StreamNumber own) const {
  return are_before(&OfMemory::reads, certain, memory, own);
}

bool AccessHistory::writes_are_before(const Clock& certain, MemoryNumber memory, StreamNumber own) const {
  return are_before(&OfMemory::writes, certain, memory, own);
}

bool AccessHistory::staged_source_is_stable(const Clock& certain, MemoryNumber memory) const {
  const auto found = memories_.find(memory);
  return are_before(unknown_pageable_, certain, {}) &&
         (found == memories_.end() || are_before(found->second.writes, certain, {}));
}

bool AccessHistory::unknown_work_is_before(const Clock& certain, StreamNumber own) const {
  return are_before(unknown_, certain, own);
}

bool AccessHistory::kernels_are_before(const Clock& certain, StreamNumber own) const {
  return are_before(kernels_, certain, own);
}

}  // namespace diogenes::necessity
