#include "agent/watching/facts/ranges/driver_memory.h"

#include <cstring>

namespace diogenes::agent::facts {

// The position of the first allocation that begins behind `address`.
int MemoryMap::first_behind(uint64_t address) const {
  int low = 0, high = count_;
  while (low < high) {
    int middle = (low + high) / 2;
    if (allocations_[middle].range.begin <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool MemoryMap::add(const Allocation& allocation) {
  if (allocation.range.empty()) return true;
  int at = first_behind(allocation.range.begin);
  if (at > 0 && allocations_[at - 1].range.overlaps(allocation.range)) --at;
  int replaced = at;
  while (replaced < count_ && allocations_[replaced].range.overlaps(allocation.range)) ++replaced;
  if (replaced == at && count_ == kMaximumAllocations) return false;
  memmove(allocations_ + at + 1, allocations_ + replaced,
          static_cast<size_t>(count_ - replaced) * sizeof(Allocation));
  count_ += 1 - (replaced - at);
  allocations_[at] = allocation;
  bounds_.add(allocation.range);
  if (!is_host_side(allocation.kind)) device_bounds_.add(allocation.range);
  return true;
}

void MemoryMap::remove(uint64_t begin) {
  int at = first_behind(begin) - 1;
  if (at < 0 || allocations_[at].range.begin != begin) return;
  memmove(allocations_ + at, allocations_ + at + 1,
          static_cast<size_t>(count_ - at - 1) * sizeof(Allocation));
  --count_;
}

Allocation* MemoryMap::find(uint64_t address) {
  int at = first_behind(address) - 1;
  return at >= 0 && allocations_[at].range.contains(address) ? &allocations_[at] : nullptr;
}

Allocation* MemoryMap::near(uint64_t word) {
  if (Allocation* found = find(word)) return found;
  return find(word + AddressBounds::kBelow);
}

}  // namespace diogenes::agent::facts
