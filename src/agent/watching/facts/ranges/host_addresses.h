// Addresses of host memory that the driver does not know, or no longer, but that kernels may find: words of graphs and of copies
// to the device, and memory that kernels reached before it was released. If memory is registered or allocated there later, kernels may reach it without
// being given it then. Kept by stretches of 2 MiB, many to a bit: a wrong yes costs precision only. All zeros is empty.
#pragma once
#include <cstdint>

#include "agent/core/memory/address_bounds.h"
#include "base/range.h"

namespace diogenes::agent::facts {

// Where programs have their heaps, stacks and mappings.
inline constexpr uint64_t kLowestAddress = 0x5500'0000'0000, kBehindAddresses = 0x8000'0000'0000;
inline AddressBounds any_address() {
  AddressBounds anywhere{};
  anywhere.add({kLowestAddress, kBehindAddresses});
  return anywhere;
}

class HostAddresses {
 public:
  // Perhaps an address.
  void add(uint64_t word) {
    if (word >= kLowestAddress && word < kBehindAddresses) bits_[place(word) / 64] |= bit(word);
  }
  void add(AddressRange range) {
    if (range.size() / kStretch >= kBits) {
      for (uint64_t& bits : bits_) bits = ~uint64_t{0};
      return;
    }
    for (uint64_t at = first(range); at < range.end; at += kStretch) bits_[place(at) / 64] |= bit(at);
  }
  bool may_hold(AddressRange range) const {
    if (range.size() / kStretch >= kBits) return true;
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
  uint64_t bits_[kBits / 64];
};

}  // namespace diogenes::agent::facts
