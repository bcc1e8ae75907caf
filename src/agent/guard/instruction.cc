#include "agent/guard/instruction.h"

namespace diogenes::agent {

namespace {

constexpr Reach kAnywhere{64, false, true};

bool is_prefix(uint8_t byte) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:  // segments
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return false;
  }
}

// One-byte opcodes. An access through ModRM is 8 bytes at most, but for those named here.
Reach one_byte(uint8_t opcode) {
  if (opcode >= 0xa4 && opcode <= 0xa7) return {8, true, false};  // movs, cmps
  if (opcode >= 0xaa && opcode <= 0xaf) return {8, true, false};  // stos, lods, scas
  if (opcode >= 0x6c && opcode <= 0x6f) return kAnywhere;         // ins, outs
  if (opcode >= 0xd8 && opcode <= 0xdf) return kAnywhere;         // x87: up to 108 bytes
  switch (opcode) {
    case 0x8f:
      return kAnywhere;  // pop to memory, XOP
    case 0xff:
      return kAnywhere;  // calls and jumps through memory, far ones too
    case 0xc8:
    case 0xc9:
    case 0xd7:
      return kAnywhere;  // enter, leave, xlat
    default:
      return {8, false, false};
  }
}

Reach two_byte(uint8_t opcode) {
  switch (opcode) {
    case 0x01:
    case 0xae:
    case 0x05:
    case 0x07:
    case 0x34:
    case 0x35:
    case 0x0d:
      return kAnywhere;
    case 0xf7:
      return kAnywhere;  // maskmovq, maskmovdqu: at (%rdi)
    default:
      return {16, false, false};  // SSE, cmpxchg16b
  }
}

}  // namespace

Reach reach_of(const uint8_t* code, uint32_t length) {
  uint32_t at = 0;
  while (at < length && is_prefix(code[at])) ++at;
  if (at < length && (code[at] & 0xf0) == 0x40) ++at;  // REX
  if (at >= length) return kAnywhere;
  uint8_t opcode = code[at];
  switch (opcode) {
    case 0x0f:
      if (at + 1 >= length) return kAnywhere;
      if (code[at + 1] == 0xc7) {  // cmpxchg8b/16b, or xsavec and xsaves
        if (at + 2 >= length || (code[at + 2] >> 3 & 7) != 1) return kAnywhere;
        return {16, false, false};
      }
      if (code[at + 1] == 0x38) {  // movdir64b, enqcmd, and SSE of 16 bytes
        if (at + 2 >= length || code[at + 2] >= 0xf6) return kAnywhere;
        return {16, false, false};
      }
      if (code[at + 1] == 0x3a) return {16, false, false};
      return two_byte(code[at + 1]);
    case 0xc5:  // VEX of two bytes: map 0F
      if (at + 2 >= length || code[at + 2] == 0xf7 || code[at + 2] == 0xae) return kAnywhere;
      return {32, false, false};
    case 0xc4: {  // VEX of three bytes
      if (at + 3 >= length) return kAnywhere;
      uint8_t map = code[at + 1] & 0x1f, second = code[at + 3];
      if (map < 1 || map > 3) return kAnywhere;
      if (map == 1 && (second == 0xf7 || second == 0xae)) return kAnywhere;
      if (map == 2 && second >= 0x90 && second <= 0x93) return kAnywhere;    // gathers
      if (map == 2 && (second == 0x49 || second == 0x4b)) return kAnywhere;  // tiles
      return {32, false, false};
    }
    case 0x62: {  // EVEX
      if (at + 4 >= length) return kAnywhere;
      uint8_t map = code[at + 1] & 0x07, second = code[at + 4];
      if (map < 1 || map > 6) return kAnywhere;
      // Gathers, scatters and their prefetches; expand and compress reach no further than a vector.
      if (map == 2 && ((second >= 0x90 && second <= 0x93) || (second >= 0xa0 && second <= 0xa3) ||
                       second == 0xc6 || second == 0xc7))
        return kAnywhere;
      return {64, false, false};
    }
    case 0xd5:
      return kAnywhere;  // REX2
    default:
      return one_byte(opcode);
  }
}

}  // namespace diogenes::agent
