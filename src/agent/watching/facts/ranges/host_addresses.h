// Addresses of host memory that the driver does not know, or no longer, but that kernels may find: words of graphs and of copies
// to the device, and memory that kernels reached before it was released. If memory is registered or allocated there later,
// kernels may reach it without being given it then. Kept by stretches of 2 MiB, many to a bit: a wrong yes costs precision only.
// All zeros is empty.
#pragma once
#include <sys/auxv.h>

#include <cstdint>

#include "agent/core/memory/address_bounds.h"
#include "base/range.h"

namespace diogenes::agent::facts {

// Where the program may have its heap, stacks, mappings and variables.
inline AddressBounds any_address() {
  constexpr uint64_t kLowest = 0x5500'0000'0000, kBehind = 0x8000'0000'0000;
  constexpr uint64_t kImageAndHeap = uint64_t{4} << 30;
  AddressBounds anywhere{};
  anywhere.add({kLowest, kBehind});
  // One that is not position-independent lies far below, and its heap behind it.
  const uint64_t image = getauxval(AT_PHDR);
  if (image < kLowest) anywhere.add({image, image + kImageAndHeap});
  return anywhere;
}

class HostAddresses {
 public:
  void add(uint64_t word) { bits_[place(word) / 64] |= bit(word); }
  void add(AddressRange range) {
    if (range.size() / kStretch >= kBits) return add_all();
    for (uint64_t at = first(range); at < range.end; at += kStretch) bits_[place(at) / 64] |= bit(at);
  }
  // An address that begins with `upper`, its bits from `below` on.
  void add_part(uint64_t upper, int below) {
    const AddressRange part{upper << below, (upper + 1) << below};
    for (int i = 0; i < parts_count_; ++i)
      if (parts_[i] == part) return;
    if (parts_count_ == kParts) return add_all();
    parts_[parts_count_++] = part;
  }
  void add_all() {
    for (uint64_t& bits : bits_) bits = ~uint64_t{0};
  }
  bool may_hold(AddressRange range) const {
    if (range.size() / kStretch >= kBits) return true;
    for (int i = 0; i < parts_count_; ++i)
      if (parts_[i].overlaps(range)) return true;
    for (uint64_t at = first(range); at < range.end; at += kStretch)
      if (bits_[place(at) / 64] & bit(at)) return true;
    return false;
  }
  void reset() { *this = {}; }

 private:
  static constexpr uint64_t kStretch = 2 << 20, kBits = 4096;
  static uint64_t first(AddressRange range) { return range.begin & ~(kStretch - 1); }
  static uint64_t place(uint64_t word) { return (word / kStretch) * 0x9e3779b97f4a7c15 >> 52; }
  static uint64_t bit(uint64_t word) { return uint64_t{1} << place(word) % 64; }
  static constexpr int kParts = 16;
  uint64_t bits_[kBits / 64];
  AddressRange parts_[kParts];
  int parts_count_;
};

}  // namespace diogenes::agent::facts
