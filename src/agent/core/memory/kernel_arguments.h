// Which memory a kernel is given: the words of its parameters that lie where the driver gave memory.
// Parameters are untyped, so every aligned word counts; a number that looks like such an address costs
// precision only. Of addresses that a kernel finds elsewhere: watching/facts/content/found_addresses.h. Reads the
// program's memory and asks the driver: never under the collector's lock.
#pragma once
#include <cstdint>
#include <cstring>

#include "agent/core/calls/call.h"
#include "agent/core/memory/address_bounds.h"
#include "base/fixed_map.h"
#include "base/range.h"

namespace diogenes::agent {

struct KernelAddresses {
  static constexpr int kMaximum = 256;
  uint64_t address[kMaximum];
  int count;
  bool unknown;  // could not be read, or too many: any memory may have been given

  void clear() { count = 0, unknown = false; }
  void add(uint64_t word, const AddressBounds& bounds) {
    if (!bounds.contain(word)) return;
    if (count == kMaximum)
      unknown = true;
    else
      address[count++] = word;
  }
};

// The words from `data` on that lie in `bounds`.
inline void scan_words(const void* data, uint64_t bytes, const AddressBounds& bounds,
                       KernelAddresses& addresses) {
  const auto* const words = static_cast<const unsigned char*>(data);
  uint64_t word;
  for (uint64_t at = 0; at + sizeof word <= bytes && !addresses.unknown; at += sizeof word) {
    memcpy(&word, words + at, sizeof word);
    addresses.add(word, bounds);
  }
}

// The sizes of each function's parameters, asked of the driver once.
class KernelArguments {
 public:
  void scan(const Call& call, const AddressBounds& bounds, bool may_ask, KernelAddresses& addresses);
  void scan(uint64_t function, void* const* parameters, void* const* extra, const AddressBounds& bounds,
            bool may_ask, KernelAddresses& addresses);
  void forget_functions();  // a module was unloaded: handles may come again
  void reset() { forget_functions(); }

 private:
  static constexpr int kParameters = 31;
  struct Sizes {
    uint16_t count;
    uint16_t bytes[kParameters];
  };
  bool sizes_of(uint64_t function, bool may_ask, Sizes& sizes);

  FixedMap<Sizes, 4096> known_;
};

}  // namespace diogenes::agent
