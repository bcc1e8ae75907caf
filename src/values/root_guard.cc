#include "values/root_guard.h"

#include <cstring>

#include "values/transfer.h"

namespace diogenes::values {

namespace {

constexpr uintptr_t kMostBytes = 15;  // of an instruction

// Bytes of the numbers that are compared, without a signal where one is NaN; 0: it is another instruction.
uint32_t compares(const Decoded& decoded) {
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_UCOMISD:
    case ZYDIS_MNEMONIC_VUCOMISD:
      return 8;
    case ZYDIS_MNEMONIC_UCOMISS:
    case ZYDIS_MNEMONIC_VUCOMISS:
      return 4;
    default:
      return 0;
  }
}

bool is_vector(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value >= ZYDIS_REGISTER_XMM0 &&
         operand.reg.value <= ZYDIS_REGISTER_XMM15;
}

bool is_zero(const Decoded& decoded, const ZydisDecodedOperand& operand, uint32_t bytes,
             const mcontext_t& context, uintptr_t instruction, RootGuard::Copy copy) {
  uint64_t number = 1;
  if (is_vector(operand) && context.fpregs)
    memcpy(&number, context.fpregs->_xmm[operand.reg.value - ZYDIS_REGISTER_XMM0].element, sizeof number);
  else if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY ||
           !copy(&number, reinterpret_cast<const void*>(address_of(decoded, operand, context, instruction)),
                 bytes))
    return false;
  return (bytes == 4 ? number & 0xffff'ffff : number) == 0;
}

bool is_root_of(const Decoded& decoded, ZydisRegister number) {
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_SQRTSD:
    case ZYDIS_MNEMONIC_SQRTSS:
    case ZYDIS_MNEMONIC_VSQRTSD:
    case ZYDIS_MNEMONIC_VSQRTSS:
      break;
    default:
      return false;
  }
  const ZydisDecodedOperand& last = decoded.operands[decoded.instruction.operand_count_visible - 1];
  return last.type == ZYDIS_OPERAND_TYPE_REGISTER && last.reg.value == number;
}

bool goes_on(const Decoded& decoded) {
  switch (decoded.instruction.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
      return false;
    default:
      return true;
  }
}

// The first or the second instruction from here on.
bool takes_root(uintptr_t from, ZydisRegister number, RootGuard::Copy copy) {
  for (int i = 0; i < 2; ++i) {
    uint8_t code[kMostBytes];
    Decoded decoded;
    if (!copy(code, reinterpret_cast<const void*>(from), sizeof code) || !decode(code, sizeof code, decoded))
      return false;
    if (is_root_of(decoded, number)) return true;
    if (!goes_on(decoded)) return false;
    from += decoded.instruction.length;
  }
  return false;
}

}  // namespace

void RootGuard::look_at(const Decoded& decoded, const mcontext_t& context, uintptr_t instruction, Copy copy) {
  const uint32_t bytes = compares(decoded);
  if (bytes == 0) return;
  const ZydisDecodedOperand &first = decoded.operands[0], &second = decoded.operands[1];
  compared_ = ZYDIS_REGISTER_NONE;
  behind_ = instruction + decoded.instruction.length;
  if (is_zero(decoded, first, bytes, context, instruction, copy) && is_vector(second))
    compared_ = second.reg.value;
  else if (is_zero(decoded, second, bytes, context, instruction, copy) && is_vector(first))
    compared_ = first.reg.value;
}

bool RootGuard::is(const Decoded& branch, uintptr_t instruction, Copy copy) const {
  const auto& code = branch.instruction;
  if (compared_ == ZYDIS_REGISTER_NONE || instruction != behind_ ||
      code.meta.category != ZYDIS_CATEGORY_COND_BR ||
      branch.operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !branch.operands[0].imm.is_relative)
    return false;
  const uintptr_t next = instruction + code.length;
  return takes_root(next, compared_, copy) ||
         takes_root(next + static_cast<uintptr_t>(branch.operands[0].imm.value.s), compared_, copy);
}

}  // namespace diogenes::values
