// The memory of a process: which allocation an address belongs to at the time.
// In: allocations and releases in the order of their times. Out: a MemoryNumber for each allocation that work
// or a watch names. Memory that nobody was seen to allocate is one memory on the host (the pageable memory,
// registered or not) and one on the device: there, addresses tell ranges apart.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "analysis/necessity/events.h"

namespace diogenes::necessity {

struct Allocation {
  AddressRange range;
  MemoryKind kind = MemoryKind::unknown;
  uint16_t context = 0;
  bool stream_ordered = false;
  bool variable = false;  // of a module: looked up, never allocated
  OperationId made_by;
  uint64_t serial = 0;  // never used again
  MemoryNumber number;  // once something names it

  bool on_host() const { return kind != MemoryKind::device; }
};

// A range in the judge's terms.
struct Place {
  MemoryNumber memory;
  AddressRange range;
  bool on_host = false;
};

class MemoryTable {
 public:
  // Whatever lay there is gone. Null: an empty range, or a variable that was looked up before.
  const Allocation* allocate(Allocation allocation);
  // The allocation that holds the address. Null: none that was seen.
  const Allocation* find(uint64_t address) const;
  // The allocation that begins there: what a release names.
  const Allocation* at(uint64_t address) const;
  void release(const Allocation& allocation);
  std::vector<Allocation> of_context(uint16_t context) const;

  // Registered pageable memory: no allocation, but a wait when it ends has the context's scope.
  void register_host(AddressRange range, uint16_t context);
  struct Registration {
    AddressRange range;
    uint16_t context = 0;
  };
  // Null: not known to be registered.
  const Registration* registered_at(uint64_t address) const;
  bool is_registered(AddressRange range) const;  // some of it
  void unregister(uint64_t address) { registered_.erase(address); }

  // What reaches behind an allocation's end is an error of the program, and left out.
  Place place(AddressRange range, MemoryKind kind);
  // Invalid: it is gone, or `make` is not set and nothing has named it.
  MemoryNumber number_of(const Allocation& allocation, bool make = true);
  // All that the range names on the host, each piece in its memory; only what has a number already.
  std::vector<Place> known_pieces(AddressRange range) const;

 private:
  MemoryNumber fresh() { return {next_++}; }

  std::map<uintptr_t, Allocation> by_begin_;
  std::map<uint64_t, Registration> registered_;
  MemoryNumber host_, device_;
  uint32_t next_ = 0;
  uint64_t serial_ = 0;
};

}  // namespace diogenes::necessity
