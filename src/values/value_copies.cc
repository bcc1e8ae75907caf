#include "values/value_copies.h"

#include <algorithm>

namespace diogenes::values {

namespace {

constexpr uint64_t kBelowStack = 64 << 10;  // bytes below the stack pointer that certainly are the stack's
constexpr uint64_t kRedZone = 128;

// FNV-1a of few bytes; 0: there are more.
uint64_t content_of(AddressRange range, const ValueServices& services) {
  uint8_t bytes[64];
  const auto* from = reinterpret_cast<const void*>(range.begin);
  if (range.size() > sizeof bytes || !services.copy(bytes, from, range.size())) return 0;
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t i = 0; i < range.size(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

AddressRange aligned_piece(AddressRange range) {
  uintptr_t bytes = std::min<uintptr_t>(range.size(), 8);
  while (bytes & (bytes - 1)) bytes &= bytes - 1;
  while (range.begin % bytes != 0) bytes /= 2;
  return AddressRange::of(range.begin, bytes);
}

}  // namespace

void CopyContents::note(const MemorySet& copies, const ValueServices& services) {
  for (int i = 0; i < copies.count(); ++i) contents_[i] = content_of(copies[i], services);
}

void CopyContents::drop_overwritten(MemorySet& copies, const ValueServices& services) const {
  for (int i = copies.count(); i-- > 0;)
    if (content_of(copies[i], services) != contents_[i]) copies.remove(copies[i]);
}

void drop_dead_copies(MemorySet& copies, uintptr_t stack) {
  copies.remove({stack - kRedZone - kBelowStack, stack - kRedZone});
}

AddressRange copy_to_watch(const MemorySet& copies, AddressRange touched, AddressRange accessed,
                           uintptr_t stack, int& count) {
  const AddressRange near_stack{stack - kRedZone, stack + (1 << 20)};
  AddressRange best;
  count = 0;
  for (int i = 0; i < copies.count(); ++i) {
    if (touched.contains(copies[i])) continue;
    ++count;
    if (best.empty() || near_stack.overlaps(best) || !near_stack.overlaps(copies[i])) best = copies[i];
  }
  if (count == 0 && copies.overlaps(accessed)) best = accessed;
  return best.empty() ? best : aligned_piece(best);
}

}  // namespace diogenes::values
