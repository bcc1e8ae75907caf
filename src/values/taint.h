// Which registers, flags and bytes of memory hold a value, byte by byte.
#pragma once
#include <cstdint>
#include <cstring>

#include "values/memory_set.h"

namespace diogenes::values {

struct Taint {
  uint8_t general[16] = {};  // a bit for each byte, in the order in which instructions number them: rax, rcx, rdx, rbx, ...
  uint64_t vector[32] = {};
  bool opmask[8] = {};
  bool x87 = false;    // any register of the stack, or of MMX
  uint32_t flags = 0;  // ZYDIS_CPUFLAG_*
  MemorySet memory;

  uint64_t saved_vector[32] = {};  // by the dynamic linker, while it looks up a function (xsave)

  bool in_registers() const {
    for (uint8_t bytes : general)
      if (bytes) return true;
    for (uint64_t bytes : vector)
      if (bytes) return true;
    for (bool one : opmask)
      if (one) return true;
    return x87 || flags != 0;
  }
  // What a called function keeps for its caller: rbx, rsp, rbp, r12 to r15.
  bool in_kept_registers() const {
    for (int number : {3, 4, 5, 12, 13, 14, 15})
      if (general[number]) return true;
    return false;
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
