// The names that a program gives to its ranges. Programs may give what is no string: without a tool nobody reads it, so it
// is read as memory that may not be there. Names are compared by their hash; handles that the program is given for a domain
// or a registered string are hashes, too, so that no table of them is needed.
#pragma once
#include <cstdint>

#include "nvtx/nvtx_abi.h"
#include "trace/nvtx_ranges.h"

namespace diogenes::nvtx {

// UTF-8, without an end. One byte more than a region's name may have: a longer name is none.
struct Name {
  char text[kMostRegionBytes + 1];
  uint32_t bytes = 0;
};

// False: there is no such memory. What is too long is cut.
bool read_name(const char* from, Name& name);
bool read_name(const wchar_t* from, Name& name);
bool read_attributes(const Attributes* from, Attributes& attributes);

// FNV-1a; never 0.
uint64_t hash_of(const Name& name);

}  // namespace diogenes::nvtx
