// What sort of instruction one is, as far as it matters for where a value goes. In: the decoded instruction. Out: its sort.
#pragma once
#include <cstdint>

#include "values/decoder.h"

namespace diogenes::values {

// Kinds of instructions that are told apart; what is none of the others is arithmetic.
enum class Sort : uint8_t {
  arithmetic,
  move,     // bytes, as they are
  extend,   // with zeros or the sign
  shuffle,  // bytes of its operands in another order
  convert,
  save,  // xsave and its like
  restore,
  clear_upper,
  refused,
};

Sort sort_of(const ZydisDecodedInstruction& instruction);

bool is_string(const ZydisDecodedInstruction& instruction);

// Its result is 0, whatever its operands hold: `xor eax, eax`.
bool makes_zero(const Decoded& decoded);

inline bool is_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER;
}

}  // namespace diogenes::values
