// x86-64 instructions of a file's code, decoded by Zydis, and what is asked of them: where they branch to, whether code goes on
// behind them.
#pragma once
#include <Zydis/Zydis.h>

#include <cstdint>
#include <span>

namespace diogenes {

struct Instruction {
  ZydisDecodedInstruction decoded;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  uint64_t length() const { return decoded.length; }
  bool is_relative_branch() const {
    return decoded.raw.imm[0].is_relative && decoded.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE;
  }
  uint64_t branch_target(uint64_t here) const {
    return here + decoded.length + static_cast<uint64_t>(decoded.raw.imm[0].value.s);
  }
  // A branch that is no call.
  bool is_relative_jump() const {
    return is_relative_branch() && (decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
                                    decoded.meta.category == ZYDIS_CATEGORY_COND_BR);
  }
  // The path does not go on behind it.
  bool ends_path() const {
    return decoded.meta.category == ZYDIS_CATEGORY_RET || decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
  }
  bool is_trap() const {
    switch (decoded.mnemonic) {
      case ZYDIS_MNEMONIC_INT3:
      case ZYDIS_MNEMONIC_INT1:
      case ZYDIS_MNEMONIC_INT:
      case ZYDIS_MNEMONIC_HLT:
      case ZYDIS_MNEMONIC_UD0:
      case ZYDIS_MNEMONIC_UD1:
      case ZYDIS_MNEMONIC_UD2:
        return true;
      default:
        return false;
    }
  }
  bool is_padding() const {
    return decoded.mnemonic == ZYDIS_MNEMONIC_NOP || decoded.mnemonic == ZYDIS_MNEMONIC_INT3;
  }
};

class InstructionDecoder {
 public:
  InstructionDecoder() { ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }
  bool decode(std::span<const uint8_t> bytes, Instruction* out) const {
    return ZYAN_SUCCESS(
        ZydisDecoderDecodeFull(&decoder_, bytes.data(), bytes.size(), &out->decoded, out->operands));
  }
  // Without operands: what a search for branches needs, several times as fast.
  bool decode_quickly(std::span<const uint8_t> bytes, Instruction* out) const {
    return ZYAN_SUCCESS(
        ZydisDecoderDecodeInstruction(&decoder_, nullptr, bytes.data(), bytes.size(), &out->decoded));
  }

 private:
  ZydisDecoder decoder_;
};

}  // namespace diogenes
