#include "analysis/necessity/tables/memory_table.h"

namespace diogenes::necessity {

const Allocation* MemoryTable::allocate(Allocation allocation) {
  if (allocation.range.empty()) return nullptr;
  if (allocation.variable)
    if (const Allocation* known = find(allocation.range.begin);
        known && known->variable && known->range.contains(allocation.range))
      return nullptr;
  auto next = by_begin_.upper_bound(allocation.range.begin);
  if (next != by_begin_.begin() && std::prev(next)->second.range.overlaps(allocation.range)) --next;
  while (next != by_begin_.end() && next->second.range.overlaps(allocation.range))
    next = by_begin_.erase(next);
  allocation.serial = ++serial_;
  allocation.number = {};
  return &by_begin_.insert_or_assign(allocation.range.begin, allocation).first->second;
}

const Allocation* MemoryTable::find(uint64_t address) const {
  auto next = by_begin_.upper_bound(address);
  if (next == by_begin_.begin()) return nullptr;
  const Allocation& found = std::prev(next)->second;
  return found.range.contains(address) ? &found : nullptr;
}

const Allocation* MemoryTable::at(uint64_t address) const {
  auto found = by_begin_.find(address);
  return found == by_begin_.end() ? nullptr : &found->second;
}

void MemoryTable::release(const Allocation& allocation) {
  auto found = by_begin_.find(allocation.range.begin);
  if (found != by_begin_.end() && found->second.serial == allocation.serial) by_begin_.erase(found);
}

std::vector<Allocation> MemoryTable::of_context(uint16_t context) const {
  std::vector<Allocation> found;
  for (const auto& [begin, allocation] : by_begin_)
    if (context != 0 && allocation.context == context) found.push_back(allocation);
  return found;
}

void MemoryTable::register_host(AddressRange range, uint16_t context) {
  if (!range.empty()) registered_.insert_or_assign(range.begin, Registration{range, context});
}

const MemoryTable::Registration* MemoryTable::registered_at(uint64_t address) const {
  auto found = registered_.find(address);
  return found == registered_.end() ? nullptr : &found->second;
}

bool MemoryTable::is_registered(AddressRange range) const {
  const auto behind = registered_.lower_bound(range.end);
  return behind != registered_.begin() && std::prev(behind)->second.range.overlaps(range);
}

MemoryNumber MemoryTable::number_of(const Allocation& allocation, bool make) {
  auto found = by_begin_.find(allocation.range.begin);
  if (found == by_begin_.end() || found->second.serial != allocation.serial) return allocation.number;
  if (make && !found->second.number.valid()) found->second.number = fresh();
  return found->second.number;
}

Place MemoryTable::place(AddressRange range, MemoryKind kind) {
  if (const Allocation* found = find(range.begin))
    return {number_of(*found), range.intersection(found->range), found->on_host()};
  bool on_host = kind != MemoryKind::device;
  MemoryNumber& number = on_host ? host_ : device_;
  if (!number.valid()) number = fresh();
  return {number, range, on_host};
}

std::vector<Place> MemoryTable::known_pieces(AddressRange range) const {
  std::vector<Place> pieces;
  if (range.empty()) return pieces;
  auto next = by_begin_.upper_bound(range.begin);
  if (next != by_begin_.begin() && std::prev(next)->second.range.overlaps(range)) --next;
  bool inside = next != by_begin_.end() && next->second.range.contains(range);
  if (host_.valid() && !inside) pieces.push_back({host_, range, true});
  for (; next != by_begin_.end() && next->second.range.overlaps(range); ++next)
    if (next->second.number.valid() && next->second.on_host())
      pieces.push_back({next->second.number, range.intersection(next->second.range), true});
  return pieces;
}

}  // namespace diogenes::necessity
