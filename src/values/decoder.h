// x86-64 instructions, decoded by Zydis without allocation. The library is opened for this one alone, so that a program's
// own Zydis, of whatever version, stays apart from it.
#pragma once
#include <Zydis/DecoderTypes.h>

#include <cstdint>

namespace diogenes::values {

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// Not in a signal's handler. False: there is no Zydis, or another one than this was built for.
bool open_decoder();

// `code`: `bytes` bytes, 15 or what could be read. False: no instruction.
bool decode(const uint8_t* code, uint32_t bytes, Decoded& to);

}  // namespace diogenes::values
