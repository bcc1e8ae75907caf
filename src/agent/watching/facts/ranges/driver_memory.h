// The memory that the driver gave to the program or was told of: device, pinned, registered, managed, and
// modules' variables. In: allocations and releases. Out: what an address is, and which memory kernels and the
// host share. What is not here is pageable, unless the driver says otherwise. Serialised by the collector's
// lock.
#pragma once
#include <cstdint>

#include "agent/core/memory/address_bounds.h"
#include "base/range.h"
#include "trace/fact_records.h"

namespace diogenes::agent::facts {

inline constexpr int kMaximumAllocations = 16384;

struct Allocation {
  AddressRange range;
  MemoryKind kind;
  WatchRefusal refusal;  // why it cannot be watched; none: it can
  bool shared;           // kernels reach it, and so does the host
  bool found;            // ... every kernel, without being given it
  bool named;            // by a copy or a fill
  bool variable;         // of a module: every kernel may reach it without being given it
  bool holds_addresses;  // addresses were copied here, which kernels may follow
  uint32_t written;      // the number of the last launch that was given it
};

constexpr bool is_host_side(MemoryKind kind) {
  return kind == MemoryKind::pageable || kind == MemoryKind::pinned || kind == MemoryKind::registered;
}

class MemoryMap {
 public:
  // False: full. Replaces what overlaps it: a release that was not seen.
  bool add(const Allocation& allocation);
  void remove(uint64_t begin);
  Allocation* find(uint64_t address);
  // The allocation that a kernel is given with this word: arrays that are counted from 1 are passed by the
  // address before their first element.
  Allocation* near(uint64_t word);

  const AddressBounds& bounds() const { return bounds_; }  // all of it lies in here
  const AddressBounds& device_bounds() const {
    return device_bounds_;
  }  // all but pinned and registered memory
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (int i = 0; i < count_; ++i) visit(allocations_[i]);
  }
  void reset() { count_ = 0, bounds_ = device_bounds_ = {}; }

 private:
  int first_behind(uint64_t address) const;

  Allocation allocations_[kMaximumAllocations];  // by address
  int count_;
  AddressBounds bounds_, device_bounds_;
};

}  // namespace diogenes::agent::facts
