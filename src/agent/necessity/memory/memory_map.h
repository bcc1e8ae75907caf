// The memory that the driver gave to the program or was told of: device, pinned, registered, managed.
// In: allocations and releases. Out: what a pointer is. What is not here is pageable, unless the driver says
// otherwise (collector.cc asks it then). Serialised by the collector's lock.
#pragma once
#include <cstdint>

#include "agent/necessity/memory/address_bounds.h"
#include "agent/necessity/order/named_memory.h"
#include "base/range.h"
#include "trace/format.h"

namespace diogenes::agent {

inline constexpr int kMaximumAllocations = 16384;

struct Allocation {
  AddressRange range;
  uint64_t context;  // current when it was made; 0: not known
  MemoryKind kind;
  bool variable;        // of a module, not allocated
  bool stream_ordered;  // cuMemAllocAsync
  bool holds_pointers;  // device addresses were copied here: kernels may follow them
  bool leads_on;        // managed: an address was read there once, and may be there still
  Name name;
  uint32_t read_at;      // managed: State::pages_taken when its pages were last read whole, or it was made
  uint32_t unguardable;  // Reason bits for which no guard may lie on it; 0: it may
};

constexpr bool is_host_side(MemoryKind kind) {
  return kind == MemoryKind::pageable || kind == MemoryKind::pinned || kind == MemoryKind::registered;
}

class MemoryMap {
 public:
  // False: full. Replaces what overlaps it: a release that was not seen.
  bool add(const Allocation& allocation);
  void remove(uint64_t begin);
  const Allocation* find(uint64_t address) const;
  void mark_pointers(uint64_t address);           // Allocation::holds_pointers
  void mark_read(uint64_t address, uint32_t at);  // Allocation::read_at
  void mark_leading_on(uint64_t address);         // Allocation::leads_on

  // All of it lies in here.
  const AddressBounds& bounds() const { return bounds_; }
  // All but pinned and registered memory.
  const AddressBounds& device_bounds() const { return device_bounds_; }
  template <typename Visit>
  void for_each_host(Visit&& visit) const {
    for (int i = 0; i < count_; ++i)
      if (is_host_side(allocations_[i].kind)) visit(allocations_[i]);
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (int i = 0; i < count_; ++i) visit(allocations_[i]);
  }
  void reset() { count_ = 0, bounds_ = device_bounds_ = {}; }

 private:
  int first_behind(uint64_t address) const;

  Allocation allocations_[kMaximumAllocations];  // by address
  int count_;
  AddressBounds bounds_, device_bounds_;
};

}  // namespace diogenes::agent
