// Compilers guard a square root: where its argument is negative, they call sqrt(), which sets errno, instead of the
// instruction.
//
//     pxor xmm1, xmm1;  ucomisd xmm1, xmm0;  ja negative;  sqrtsd xmm0, xmm0
//
// This branch is no decision of the program. A comparison that the program itself makes is another instruction (comisd,
// g++), or is followed by this guard and not by the square root (clang++). In: the comparison, then the branch. Out: is it a
// guard?
#pragma once
#include <ucontext.h>

#include "values/decoder.h"

namespace diogenes::values {

class RootGuard {
 public:
  // Before each instruction. `copy`: from memory of the program; false: it cannot be read.
  using Copy = bool (*)(void* to, const void* from, size_t bytes);
  void look_at(const Decoded& decoded, const mcontext_t& context, uintptr_t instruction, Copy copy);

  // Of a branch, before it: it only chooses between the instruction and the function.
  bool is(const Decoded& branch, uintptr_t instruction, Copy copy) const;

 private:
  ZydisRegister compared_ = ZYDIS_REGISTER_NONE;  // with zero
  uintptr_t behind_ = 0;                          // the comparison
};

}  // namespace diogenes::values
