#include "agent/watching/guard/faults/instruction.h"

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

struct Prefixes {
  bool operand = false;  // 66
  bool f2 = false, f3 = false;
  bool wide = false;  // REX.W

  uint32_t operand_bytes() const { return wide ? 8 : operand ? 2 : 4; }
};

constexpr Reach up_to(uint32_t bytes) { return {bytes, false, false}; }

// One-byte opcodes: the operand's size where it is plain, else 8 bytes, which none exceeds but those named
// here.
Reach one_byte(uint8_t opcode, const Prefixes& prefixes) {
  const bool all =
      opcode == 0xa4 || opcode == 0xa5 || (opcode >= 0xaa && opcode <= 0xad);  // movs, stos, lods
  if (all && (prefixes.f2 || prefixes.f3)) return {8, true, false, opcode & 1 ? prefixes.operand_bytes() : 1};
  if (opcode >= 0xa4 && opcode <= 0xa7) return {8, true, false};  // movs, cmps
  if (opcode >= 0xaa && opcode <= 0xaf) return {8, true, false};  // stos, lods, scas
  if (opcode >= 0x6c && opcode <= 0x6f) return kAnywhere;         // ins, outs
  if (opcode >= 0xd8 && opcode <= 0xdf) return kAnywhere;         // x87: up to 108 bytes
  bool by_size = (opcode < 0x40 && (opcode & 7) < 4) || (opcode >= 0x84 && opcode <= 0x8b) ||
                 opcode == 0x80 || opcode == 0x81 || opcode == 0xc6 || opcode == 0xc7 || opcode == 0xc0 ||
                 opcode == 0xc1 || (opcode >= 0xd0 && opcode <= 0xd3) || opcode == 0xf6 || opcode == 0xf7;
  if (by_size) return up_to(opcode & 1 ? prefixes.operand_bytes() : 1);
  switch (opcode) {
    case 0x83:
    case 0x69:
    case 0x6b:
      return up_to(prefixes.operand_bytes());
    case 0xfe:
      return up_to(1);
    case 0x63:
      return up_to(4);
    case 0x8f:  // pop to memory, XOP
    case 0xff:  // calls and jumps through memory, far ones too
    case 0xc8:  // enter
    case 0xc9:  // leave
    case 0xd7:
      return kAnywhere;  // xlat
    default:
      return up_to(8);
  }
}

// Opcodes after 0F: 16 bytes (SSE) are the most, but for those named here.
Reach two_byte(uint8_t opcode, const Prefixes& prefixes) {
  if (opcode >= 0x90 && opcode <= 0x9f) return up_to(1);                         // set
  if (opcode >= 0x40 && opcode <= 0x4f) return up_to(prefixes.operand_bytes());  // cmov
  bool scalar = opcode == 0x10 || opcode == 0x11 || opcode == 0x51 || (opcode >= 0x58 && opcode <= 0x5f);
  if (scalar && prefixes.f3) return up_to(4);
  if (scalar && prefixes.f2) return up_to(8);
  switch (opcode) {
    case 0xb6:
    case 0xbe:
    case 0xb0:
    case 0xc0:
      return up_to(1);
    case 0xb7:
    case 0xbf:
      return up_to(2);
    case 0xaf:
    case 0xb1:
    case 0xc1:
      return up_to(prefixes.operand_bytes());
    case 0x12:
    case 0x13:
    case 0x16:
    case 0x17:
      return up_to(prefixes.f2 || prefixes.f3 ? 16 : 8);  // halves; with a prefix, movddup and its like
    case 0x6e:
      return up_to(prefixes.wide ? 8 : 4);
    case 0x7e:
      return up_to(prefixes.wide || prefixes.f3 ? 8 : 4);
    case 0xd6:
      return up_to(8);
    case 0x01:
    case 0xae:
    case 0x05:
    case 0x07:
    case 0x34:
    case 0x35:
    case 0x0d:
    case 0xf7:
      return kAnywhere;  // maskmovq, maskmovdqu: at (%rdi)
    default:
      return up_to(16);
  }
}

}  // namespace

Reach reach_of(const uint8_t* code, uint32_t length) {
  uint32_t at = 0;
  Prefixes prefixes;
  for (; at < length && is_prefix(code[at]); ++at) {
    prefixes.operand |= code[at] == 0x66;
    prefixes.f2 |= code[at] == 0xf2;
    prefixes.f3 |= code[at] == 0xf3;
  }
  if (at < length && (code[at] & 0xf0) == 0x40) prefixes.wide = code[at++] & 8;  // REX
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
      return two_byte(code[at + 1], prefixes);
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
      return one_byte(opcode, prefixes);
  }
}

}  // namespace diogenes::agent
