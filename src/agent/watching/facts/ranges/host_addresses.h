// Words that looked like addresses of host memory which the driver did not know, where they were given to
// kernels to come or copied to the device: in graphs and in tables of pointers. If such memory is registered
// later, kernels may reach it without being given it then. Kept by stretches of 2 MiB, many to a bit: a wrong
// yes costs precision only. All zeros is empty.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent::facts {

// Where programs have their heaps, stacks and mappings.
inline constexpr uint64_t kLowestAddress = 0x5500'0000'0000, kBehindAddresses = 0x8000'0000'0000;

class HostAddresses {
 public:
  void add(uint64_t word) {
    if (word >= kLowestAddress && word < kBehindAddresses)
      bits_[place(word) / 64] |= 1ull << place(word) % 64;
  }
  bool may_hold(AddressRange range) const {
    if (range.size() / kStretch >= kBits) return true;
    for (uint64_t at = range.begin & ~(kStretch - 1); at < range.end; at += kStretch)
      if (bits_[place(at) / 64] & 1ull << place(at) % 64) return true;
    return false;
  }
  void reset() { *this = {}; }

 private:
  static constexpr uint64_t kStretch = 2 << 20, kBits = 4096;
  static uint64_t place(uint64_t word) { return (word / kStretch) * 0x9e3779b97f4a7c15 >> 52; }
  uint64_t bits_[kBits / 64];
};

}  // namespace diogenes::agent::facts
