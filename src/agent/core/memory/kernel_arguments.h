// Which memory a kernel is given: the words of its parameters that lie where the driver gave memory.
// Parameters are untyped, so every aligned word counts; a number that looks like such an address costs
// precision only. Addresses that a kernel finds elsewhere (in device memory) are found when they are copied
// there (transfer_contents.h). Reads the program's memory and asks the driver: never under the collector's
// lock.
#pragma once
#include <cstdint>

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

// The words of `bytes` bytes at `data` that lie in `bounds`. On the device they begin at `destination`: what
// is a word there need not be one here.
void scan_words(const void* data, uint64_t bytes, uint64_t destination, const AddressBounds& bounds,
                KernelAddresses& addresses);

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
