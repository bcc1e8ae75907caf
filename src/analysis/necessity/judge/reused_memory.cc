#include "analysis/necessity/judge/reused_memory.h"

namespace diogenes::necessity {

Reuses::Reuses(const Process& process) {
  const auto id = [&](const Reuse::At& at) {
    return key_of(OperationId{static_cast<uint16_t>(process.threads[at.thread].ordinal), 0, at.operation});
  };
  for (const Reuse& reuse : process.reuses) allocated_after_[id(reuse.released)] = id(reuse.allocated);
}

const uint64_t* Reuses::allocated_after(OperationId released) const {
  const auto found = allocated_after_.find(key_of(released));
  return found == allocated_after_.end() ? nullptr : &found->second;
}

// Where nothing was moved it begins a slot of its own.
ReusedMemory::Moved ReusedMemory::of(MemoryNumber memory, uintptr_t begin) const {
  const auto found = moved_.find(memory.value);
  return found == moved_.end() ? Moved{{memory, begin}, begin} : found->second;
}

void ReusedMemory::move(MemoryNumber& memory, AddressRange& range) const {
  if (!memory.valid()) return;
  const auto found = moved_.find(memory.value);
  if (found == moved_.end()) return;
  const auto& [slot, from] = found->second;
  memory = slot.memory;
  range = {range.begin - from + slot.begin, range.end - from + slot.begin};
}

void ReusedMemory::released(const Event& event) {
  kept_[*reuses_.allocated_after(event.operation)] = of(event.memory, event.range.begin).slot;
}

void ReusedMemory::allocated(const Event& event) {
  const auto found = kept_.find(key_of(event.operation));
  if (found == kept_.end()) return to_.take(event);
  const Slot slot = found->second;
  kept_.erase(found);
  moved_[event.memory.value] = {slot, event.range.begin};
  if (!event.on_host) return;
  Event use = event;
  use.kind = EventKind::releases;
  use.lives_on = use.writes = true;
  move(use.memory, use.range);
  to_.take(use);
}

void ReusedMemory::take(const Event& event) {
  if (event.kind == EventKind::allocates) return allocated(event);
  if (event.kind == EventKind::releases && !event.lives_on && event.memory.valid() &&
      reuses_.allocated_after(event.operation))
    return released(event);
  if (moved_.empty()) return to_.take(event);
  Event out = event;
  move(out.memory, out.range);
  if (!event.accesses.empty()) {
    accesses_.assign(event.accesses.begin(), event.accesses.end());
    for (Access& access : accesses_) move(access.memory, access.range);
    out.accesses = accesses_;
  }
  to_.take(out);
}

}  // namespace diogenes::necessity
