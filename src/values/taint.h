// Which registers, flags and bytes of memory hold a value, byte by byte.
#pragma once
#include <cstdint>
#include <cstring>

#include "values/memory_set.h"

namespace diogenes::values {

struct Taint {
  uint8_t general[16] =
      {};  // a bit for each byte, in the order in which instructions number them: rax, rcx, rdx, rbx, ...
  uint64_t vector[32] = {};
  bool opmask[8] = {};
  bool x87 = false;    // any register of the stack, or of MMX
  uint32_t flags = 0;  // ZYDIS_CPUFLAG_*
  MemorySet memory;

  // The dynamic linker has saved them (xsave), and looks up a function that is called for the first time.
  bool saved = false;
  uint64_t saved_vector[32] = {};

  bool in_registers() const {
    for (uint8_t bytes : general)
      if (bytes) return true;
    for (uint64_t bytes : vector)
      if (bytes) return true;
    for (uint64_t bytes : saved_vector)
      if (saved && bytes) return true;
    for (bool one : opmask)
      if (one) return true;
    return x87 || flags != 0;
  }
  void forget_scratch_registers() {
    for (int number : {0, 1, 2, 6, 7, 8, 9, 10, 11}) general[number] = 0;
    memset(vector, 0, sizeof vector);
    memset(opmask, 0, sizeof opmask);
    x87 = false;
    flags = 0;
  }
};

}  // namespace diogenes::values
