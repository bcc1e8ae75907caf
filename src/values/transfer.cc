#include "values/transfer.h"

#include <algorithm>

#include "values/instruction_sort.h"
#include "values/register_place.h"

namespace diogenes::values {

namespace {

constexpr int kRsp = 4, kRbp = 5, kRcx = 1;

constexpr uint64_t ones(uint32_t bytes) { return bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1; }

bool reads(const ZydisDecodedOperand& operand) { return operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ; }
bool writes(const ZydisDecodedOperand& operand) { return operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE; }
bool is_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM;
}

// One instruction's reading and writing.
class Application {
 public:
  Application(const Decoded& decoded, const mcontext_t& context, uintptr_t instruction, Taint& taint,
              When when)
      : decoded_(decoded), context_(context), at_(instruction), taint_(taint), when_(when) {
    // Behind a watchpoint: whichever memory it read is the one that was touched.
    reads_touched_ = when == When::behind;
  }

  Effect run() {
    const auto& instruction = decoded_.instruction;
    const Sort sort = sort_of(instruction);
    switch (instruction.meta.category) {
      case ZYDIS_CATEGORY_NOP:
      case ZYDIS_CATEGORY_WIDENOP:
      case ZYDIS_CATEGORY_PREFETCH:
        return {};
      default:
        break;
    }
    if (sort == Sort::refused || gathers()) return {Effect::unknown};
    if (address_depends()) return {Effect::address};
    if (control_depends()) return {Effect::branch};
    switch (sort) {
      case Sort::save:
        std::copy(taint_.vector, taint_.vector + 32, taint_.saved_vector);
        taint_.saved = true;
        return {};
      case Sort::restore:
        if (taint_.saved) std::copy(taint_.saved_vector, taint_.saved_vector + 32, taint_.vector);
        taint_.saved = false;
        return {};
      case Sort::clear_upper:
        for (uint64_t& bytes : taint_.vector)
          bytes &= instruction.mnemonic == ZYDIS_MNEMONIC_VZEROALL ? 0 : ones(16);
        return {};
      case Sort::move:
        if (plain_move()) return effect_;
        break;
      default:
        break;
    }
    if (on_stack()) return effect_;
    if (is_string(instruction)) {
      if (repeats_no_more()) return {};
      if (is_memory(operand(0)) && is_memory(operand(1)) && writes(operand(0)) && when_ == When::before) {
        set(operand(0), mask(operand(1)), false);
        return effect_;
      }
    }
    generic(sort);
    return effect_;
  }

 private:
  const ZydisDecodedOperand& operand(int i) const { return decoded_.operands[i]; }
  int operands() const { return decoded_.instruction.operand_count; }

  bool gathers() const {
    return std::any_of(decoded_.operands, decoded_.operands + operands(), [](const ZydisDecodedOperand& one) {
      return one.type == ZYDIS_OPERAND_TYPE_MEMORY && one.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    });
  }

  // A repeated string instruction whose count is over does nothing.
  bool repeats_no_more() const {
    constexpr auto kRepeats = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
    return decoded_.instruction.attributes & kRepeats && when_ == When::before &&
           general_register(context_, kRcx) == 0;
  }

  uint64_t mask_of(ZydisRegister name) const {
    const Place place = place_of(name);
    switch (place.kind) {
      case Place::general:
        return taint_.general[place.number] >> place.from & ones(place.bytes);
      case Place::vector:
        return taint_.vector[place.number] & ones(place.bytes);
      case Place::opmask:
        return taint_.opmask[place.number] ? 0xff : 0;
      case Place::x87:
        return taint_.x87 ? 0xff : 0;
      case Place::none:
        break;
    }
    return 0;
  }

  bool address_depends() const {
    if (when_ == When::behind) return false;  // its registers may hold the result already
    for (int i = 0; i < operands(); ++i)
      if (is_memory(operand(i)) && (mask_of(operand(i).mem.base) || mask_of(operand(i).mem.index)))
        return true;
    return false;
  }

  uint32_t tested_flags() const {
    return decoded_.instruction.cpu_flags ? decoded_.instruction.cpu_flags->tested & taint_.flags : 0;
  }

  // Where it goes on, or which operand it takes.
  bool control_depends() const {
    const auto& instruction = decoded_.instruction;
    switch (instruction.meta.category) {
      case ZYDIS_CATEGORY_COND_BR:
        return tested_flags() != 0 || any_read();
      case ZYDIS_CATEGORY_CMOV:
      case ZYDIS_CATEGORY_FCMOV:
        return tested_flags() != 0;
      case ZYDIS_CATEGORY_UNCOND_BR:
      case ZYDIS_CATEGORY_CALL:
        return operand(0).type != ZYDIS_OPERAND_TYPE_IMMEDIATE && mask(operand(0)) != 0;
      case ZYDIS_CATEGORY_RET:
        return taint_.memory.mask(general_register(context_, kRsp), 8) != 0;
      case ZYDIS_CATEGORY_STRINGOP: {
        constexpr auto kRepeats = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
        return instruction.attributes & kRepeats && taint_.general[kRcx];
      }
      default:
        return false;
    }
  }

  bool any_read() const {
    for (int i = 0; i < decoded_.instruction.operand_count; ++i)
      if (is_register(operand(i)) && reads(operand(i)) && mask_of(operand(i).reg.value)) return true;
    return false;
  }

  uintptr_t address(const ZydisDecodedOperand& one) const { return address_of(decoded_, one, context_, at_); }
  static uint32_t bytes_of(const ZydisDecodedOperand& one) { return one.size / 8; }

  // Of an operand as it is before.
  uint64_t mask(const ZydisDecodedOperand& one) const {
    if (is_register(one)) return mask_of(one.reg.value);
    if (!is_memory(one)) {
      // lea, and what else computes with an address and uses none.
      if (one.type == ZYDIS_OPERAND_TYPE_MEMORY)
        return mask_of(one.mem.base) || mask_of(one.mem.index) ? ones(8) : 0;
      return 0;
    }
    if (reads_touched_) return ones(bytes_of(one));
    const uintptr_t begin = address(one);
    const uint32_t bytes = bytes_of(one);
    if (bytes <= 64) return taint_.memory.mask(begin, bytes);
    return taint_.memory.overlaps(AddressRange::of(begin, bytes)) ? ~uint64_t{0} : 0;
  }

  void set_memory(uintptr_t begin, uint32_t bytes, uint64_t bits, bool conditional = false) {
    if (bytes <= 64) {
      if (conditional) bits |= taint_.memory.mask(begin, bytes);
      taint_.memory.set(begin, bytes, bits & ones(bytes));
    } else if (bits) {
      taint_.memory.add(AddressRange::of(begin, bytes));
    } else if (!conditional) {
      taint_.memory.remove(AddressRange::of(begin, bytes));
    }
    if (bits & ones(bytes)) effect_.flags |= kValueCopied;
  }

  void set_register(ZydisRegister name, uint64_t bits, bool conditional = false) {
    const Place place = place_of(name);
    switch (place.kind) {
      case Place::general: {
        uint8_t& held = taint_.general[place.number];
        const auto whole = static_cast<uint8_t>(ones(place.bytes) << place.from);
        const auto now = static_cast<uint8_t>((bits & ones(place.bytes)) << place.from);
        if (conditional)
          held |= now;
        else if (place.bytes == 4)
          held = now;  // the upper half becomes 0
        else
          held = static_cast<uint8_t>((held & ~whole) | now);
        break;
      }
      case Place::vector: {
        uint64_t& held = taint_.vector[place.number];
        const bool legacy = decoded_.instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
        const uint64_t kept = conditional ? held : legacy ? held & ~ones(place.bytes) : 0;
        held = kept | (bits & ones(place.bytes));
        break;
      }
      case Place::opmask: {
        bool& held = taint_.opmask[place.number];
        held = bits != 0 || (conditional && held);
        break;
      }
      case Place::x87:
        taint_.x87 |= bits != 0;
        break;
      case Place::none:
        break;
    }
  }

  void set(const ZydisDecodedOperand& one, uint64_t bits, bool conditional) {
    if (is_register(one))
      set_register(one.reg.value, bits, conditional);
    else if (is_memory(one) && when_ == When::before)
      set_memory(address(one), bytes_of(one), bits, conditional);
    else if (is_memory(one) && bits)
      taint_.memory.add(AddressRange::of(address(one), bytes_of(one)));
  }

  // Two operands, or three of which the upper bytes come from the second.
  bool plain_move() {
    const auto& instruction = decoded_.instruction;
    if (instruction.avx.mask.mode == ZYDIS_MASK_MODE_MERGING ||
        instruction.avx.mask.mode == ZYDIS_MASK_MODE_ZEROING)
      return false;
    const bool single =
        instruction.mnemonic == ZYDIS_MNEMONIC_MOVSS || instruction.mnemonic == ZYDIS_MNEMONIC_VMOVSS;
    const bool scalar = single || instruction.mnemonic == ZYDIS_MNEMONIC_MOVSD ||
                        instruction.mnemonic == ZYDIS_MNEMONIC_VMOVSD;
    if (is_string(instruction)) return false;
    const uint64_t low = ones(single ? 4 : 8);
    if (instruction.operand_count_visible == 3) {
      const uint64_t bits = (mask(operand(2)) & low) | (mask(operand(1)) & ones(16) & ~low);
      set(operand(0), bits, false);
      return true;
    }
    uint64_t bits = mask(operand(1));
    switch (instruction.mnemonic) {
      case ZYDIS_MNEMONIC_MOVD:
      case ZYDIS_MNEMONIC_VMOVD:
        bits &= ones(4);
        break;
      case ZYDIS_MNEMONIC_MOVQ:
      case ZYDIS_MNEMONIC_VMOVQ:
        bits &= ones(8);
        break;
      default:
        break;
    }
    if (is_register(operand(1)) && is_memory(operand(0))) bits &= ones(bytes_of(operand(0)));
    if (scalar && is_register(operand(0)) && is_register(operand(1)))
      bits = (bits & low) | (mask(operand(0)) & ~low);
    else if (scalar && is_memory(operand(1)))
      bits &= low;  // the upper bytes become 0
    set(operand(0), bits, false);
    return true;
  }

  // Instructions whose memory operand lies where the stack pointer will be.
  bool on_stack() {
    const auto& instruction = decoded_.instruction;
    const uintptr_t stack = general_register(context_, kRsp);
    if (when_ == When::behind) {
      if (instruction.mnemonic != ZYDIS_MNEMONIC_PUSH) return false;
      set_memory(stack, bytes_of(operand(0)), mask(operand(0)));
      return true;
    }
    switch (instruction.mnemonic) {
      case ZYDIS_MNEMONIC_PUSH:
      case ZYDIS_MNEMONIC_PUSHFQ:
      case ZYDIS_MNEMONIC_PUSHF: {
        const uint32_t bytes = instruction.operand_width / 8;
        const uint64_t bits = instruction.mnemonic == ZYDIS_MNEMONIC_PUSH ? mask(operand(0))
                              : taint_.flags != 0                         ? 0xff
                                                                          : 0;
        set_memory(stack - bytes, bytes, bits);
        return true;
      }
      case ZYDIS_MNEMONIC_CALL:
        set_memory(stack - 8, 8, 0);
        return true;
      case ZYDIS_MNEMONIC_POP: {
        const uint64_t bits = taint_.memory.mask(stack, instruction.operand_width / 8);
        set(operand(0), bits, false);
        return true;
      }
      case ZYDIS_MNEMONIC_POPFQ:
      case ZYDIS_MNEMONIC_POPF:
        taint_.flags = taint_.memory.mask(stack, 8) ? ~0u : 0;
        return true;
      case ZYDIS_MNEMONIC_LEAVE:
        taint_.general[kRsp] = taint_.general[kRbp];
        taint_.general[kRbp] = static_cast<uint8_t>(taint_.memory.mask(general_register(context_, kRbp), 8));
        return true;
      case ZYDIS_MNEMONIC_RET:
        return true;
      case ZYDIS_MNEMONIC_XCHG:
        if (is_register(operand(0)) && is_register(operand(1))) {
          const uint64_t first = mask(operand(0)), second = mask(operand(1));
          set(operand(0), second, false);
          set(operand(1), first, false);
          return true;
        }
        return false;
      case ZYDIS_MNEMONIC_EMMS:
      case ZYDIS_MNEMONIC_FNINIT:
        taint_.x87 = false;
        return true;
      default:
        return false;
    }
  }

  void generic(Sort sort) {
    const auto& instruction = decoded_.instruction;
    bool any = false;
    if (!makes_zero(decoded_)) {
      any = tested_flags() != 0;
      for (int i = 0; i < operands(); ++i)
        any |= (reads(operand(i)) || is_address_only(operand(i))) && !is_counter(operand(i)) &&
               mask(operand(i)) != 0;
    }
    const uint64_t scalar = scalar_bytes(sort);
    const uint64_t result = scalar ? scalar : ~uint64_t{0};
    const uint64_t first = is_register(operand(0)) ? mask(operand(0)) : 0;
    bool stored = false, flags_certain = true;
    for (int i = 0; i < operands(); ++i) {
      const ZydisDecodedOperand& one = operand(i);
      if (!writes(one) || is_counter(one)) continue;
      const bool conditional = (one.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0 || writes_half();
      if (is_register(one) && one.reg.value == ZYDIS_REGISTER_RFLAGS) {
        flags_certain = !conditional;
        continue;
      }
      uint64_t bits = any ? result : 0;
      if (scalar && i == 0) bits |= upper_of(first) & ~scalar;
      set(one, bits, conditional);
      stored |= is_memory(one) || (is_register(one) && place_of(one.reg.value).kind != Place::none);
    }
    if (const auto* flags = instruction.cpu_flags) {
      // Processors leave some undefined flags as they were, and set others; of products these are all but two.
      const bool product =
          instruction.mnemonic == ZYDIS_MNEMONIC_IMUL || instruction.mnemonic == ZYDIS_MNEMONIC_MUL;
      const uint32_t undefined =
          flags->undefined |
          (product ? ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_PF : 0);
      if (any)
        taint_.flags |= flags->modified | undefined;
      else if (flags_certain)
        taint_.flags &= ~(flags->modified & ~undefined);
      taint_.flags &= ~(flags->set_0 | flags->set_1);
    }
    if (!any) return;
    if (sort == Sort::convert) effect_.flags |= kValueConverted;
    if (sort == Sort::arithmetic && stored) effect_.flags |= kValueComputed;
  }

  // The other half of the register stays.
  bool writes_half() const {
    switch (decoded_.instruction.mnemonic) {
      case ZYDIS_MNEMONIC_MOVHPS:
      case ZYDIS_MNEMONIC_MOVHPD:
      case ZYDIS_MNEMONIC_MOVLPS:
      case ZYDIS_MNEMONIC_MOVLPD:
      case ZYDIS_MNEMONIC_MOVLHPS:
      case ZYDIS_MNEMONIC_MOVHLPS:
        return is_register(operand(0));
      default:
        return false;
    }
  }

  // The upper elements of a scalar's result: its own, or those of its first source.
  uint64_t upper_of(uint64_t first) const {
    const bool three = decoded_.instruction.operand_count_visible >= 3 && is_register(operand(1));
    return three ? mask(operand(1)) | (reads(operand(0)) ? first : 0) : first;
  }

  static bool is_address_only(const ZydisDecodedOperand& one) {
    return one.type == ZYDIS_OPERAND_TYPE_MEMORY && one.mem.type == ZYDIS_MEMOP_TYPE_AGEN;
  }

  // What a string instruction or a stack instruction moves on, and what holds no data.
  bool is_counter(const ZydisDecodedOperand& one) const {
    return is_register(one) && one.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           (decoded_.instruction.meta.category == ZYDIS_CATEGORY_STRINGOP ||
            one.reg.value == ZYDIS_REGISTER_RSP) &&
           place_of(one.reg.value).kind == Place::general && place_of(one.reg.value).number != 0;
  }

  // Of a vector register that gets one element: that one's bytes, the lowest. Else 0.
  uint64_t scalar_bytes(Sort sort) const {
    const ZydisDecodedOperand& first = operand(0);
    if (sort == Sort::shuffle || sort == Sort::extend || !is_register(first) ||
        place_of(first.reg.value).kind != Place::vector)
      return 0;
    if (first.size < 128) return ones(first.size / 8);
    // By the last source, where the others give the upper elements.
    int last = decoded_.instruction.operand_count_visible - 1;
    while (last > 1 && operand(last).type == ZYDIS_OPERAND_TYPE_IMMEDIATE) --last;
    if (last < 2 || operand(last).element_count != 1 || operand(last).size > 64) return 0;
    return ones(sort == Sort::convert ? 8 : operand(last).size / 8);
  }

  const Decoded& decoded_;
  const mcontext_t& context_;
  uintptr_t at_;
  Taint& taint_;
  When when_;
  bool reads_touched_ = false;
  Effect effect_;
};

uintptr_t segment_base(ZydisRegister segment) {
  uintptr_t base = 0;
  // The thread's variables begin with their own address; %gs is not used in user space.
  if (segment == ZYDIS_REGISTER_FS) asm("mov %%fs:0, %0" : "=r"(base));
  return base;
}

}  // namespace

uintptr_t address_of(const Decoded& decoded, const ZydisDecodedOperand& operand, const mcontext_t& context,
                     uintptr_t instruction) {
  const auto& memory = operand.mem;
  auto value_of = [&](ZydisRegister name) -> uintptr_t {
    if (name == ZYDIS_REGISTER_RIP || name == ZYDIS_REGISTER_EIP)
      return instruction + decoded.instruction.length;
    const Place place = place_of(name);
    return place.kind == Place::general ? general_register(context, place.number) : 0;
  };
  uintptr_t address = value_of(memory.base) + value_of(memory.index) * memory.scale;
  if (memory.disp.has_displacement) address += static_cast<uintptr_t>(memory.disp.value);
  if (decoded.instruction.address_width == 32) address &= 0xffff'ffff;
  return address + segment_base(memory.segment);
}

Effect apply(const Decoded& decoded, const mcontext_t& context, uintptr_t instruction, Taint& taint,
             When when) {
  return Application(decoded, context, instruction, taint, when).run();
}

}  // namespace diogenes::values
