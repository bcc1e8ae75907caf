// Which host memory a kernel is given: the words of its parameters that lie in pinned or registered memory.
// Parameters are untyped, so every aligned word counts; a number that looks like such an address costs
// precision only. Addresses that a kernel finds elsewhere (in device memory) are found when they are copied
// there (transfers.h). Reads the program's memory and asks the driver: never under the collector's lock.
#pragma once
#include <cstdint>

#include "agent/call.h"
#include "agent/necessity/fixed_map.h"
#include "base/range.h"

namespace diogenes::agent {

struct GivenAddresses {
  static constexpr int kMaximum = 32;
  uint64_t address[kMaximum];
  int count = 0;
  bool unknown = false;  // could not be read, or too many: any host memory may have been given

  void add(uint64_t word, AddressRange bounds) {
    if (!bounds.contains(word)) return;
    if (count == kMaximum)
      unknown = true;
    else
      address[count++] = word;
  }
};

// The words of `bytes` bytes at `data` that lie in `bounds`.
void scan_words(const void* data, uint64_t bytes, AddressRange bounds, GivenAddresses& given);

// The sizes of each function's parameters, asked of the driver once.
class KernelArguments {
 public:
  void scan(const Call& call, AddressRange bounds, bool may_ask, GivenAddresses& given);
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
