#include "values/previous.h"

#include "values/register_place.h"
#include "values/transfer.h"

namespace diogenes::values {

namespace {

constexpr uint32_t kLongest = 15;

// Does it access `touched`? A register that it has written itself tells nothing any more: then it may.
enum class Accesses : uint8_t { no, perhaps, yes };

bool writes_register(const Decoded& decoded, ZydisRegister name) {
  const int number = general_number(name);
  for (int i = 0; number >= 0 && i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& one = decoded.operands[i];
    if (one.type == ZYDIS_OPERAND_TYPE_REGISTER && one.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
        general_number(one.reg.value) == number)
      return true;
  }
  return false;
}

Accesses accesses(const Decoded& decoded, uintptr_t begin, const mcontext_t& context, AddressRange touched) {
  const uintptr_t stack = general_register(context, 4);
  switch (decoded.instruction.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
      return Accesses::no;  // the next instruction would be elsewhere
    default:
      break;
  }
  Accesses found = Accesses::no;
  for (int i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& one = decoded.operands[i];
    if (one.type != ZYDIS_OPERAND_TYPE_MEMORY || one.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    AddressRange range = AddressRange::of(address_of(decoded, one, context, begin), one.size / 8);
    if (decoded.instruction.meta.category == ZYDIS_CATEGORY_POP &&
        one.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
      range = {stack - 8, stack};
    if (decoded.instruction.meta.category == ZYDIS_CATEGORY_PUSH &&
        one.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
      range = {stack, stack + 8};
    // Behind a string instruction its pointers stand one element further.
    if (decoded.instruction.meta.category == ZYDIS_CATEGORY_STRINGOP)
      range = {range.begin - one.size / 8, range.end + one.size / 8};
    if (range.overlaps(touched)) return Accesses::yes;
    if (writes_register(decoded, one.mem.base) || writes_register(decoded, one.mem.index))
      found = Accesses::perhaps;
  }
  return found;
}

}  // namespace

bool previous_instruction(const uint8_t* code, uint32_t bytes, uintptr_t place, const mcontext_t& context,
                          AddressRange touched, Decoded& to) {
  // last[i]: where the instruction begins that ends at the place, decoding from i on; -1: none ends there.
  int last[kBytesBefore];
  uint32_t votes[kLongest + 1] = {};
  if (bytes > kBytesBefore) return false;
  for (uint32_t i = bytes; i-- > 0;) {
    last[i] = -1;
    if (!decode(code + i, bytes - i, to)) continue;
    const uint32_t end = i + to.instruction.length;
    last[i] = end == bytes ? static_cast<int>(i) : last[end];
    if (last[i] >= 0 && bytes - static_cast<uint32_t>(last[i]) <= kLongest)
      ++votes[bytes - static_cast<uint32_t>(last[i])];
  }
  uint32_t best = 0, best_votes = 0;
  Accesses best_accesses = Accesses::no;
  for (uint32_t length = 1; length <= kLongest && length <= bytes; ++length) {
    if (votes[length] == 0 || !decode(code + bytes - length, length, to) || to.instruction.length != length)
      continue;
    const Accesses how = accesses(to, place - length, context, touched);
    if (how == Accesses::no || how < best_accesses || (how == best_accesses && votes[length] <= best_votes))
      continue;
    best = length, best_votes = votes[length], best_accesses = how;
  }
  return best > 0 && decode(code + bytes - best, best, to);
}

}  // namespace diogenes::values
