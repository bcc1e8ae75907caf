// What one instruction does with a value. In: the instruction, the registers before it, and which registers and bytes of
// memory hold the value. Out: which of them hold it afterwards, and what depends on it (a branch, an address, a store).
// Where it is not known which bytes of a result depend on the value, all of them count.
#pragma once
#include <ucontext.h>

#include "trace/fact_records.h"
#include "values/decoder.h"
#include "values/taint.h"

namespace diogenes::values {

struct Effect {
  enum Kind : uint8_t {
    none,
    branch,   // where the program goes on, or which of two values it takes
    address,  // which memory it uses
    unknown,  // the instruction is none that can be followed
  } kind = none;
  uint8_t flags = 0;  // ValueFlag: copied, converted, computed
};

// What is known of the registers: before the instruction; or, where it was a watchpoint that told of it, behind it.
enum class When : uint8_t { before, behind };

// The memory operand's address, where it has one whose registers are known.
uintptr_t address_of(const Decoded& decoded, const ZydisDecodedOperand& operand, const mcontext_t& context,
                     uintptr_t instruction);

// `touched`: with When::behind, memory that is read counts as holding the value, wherever it lies; that is what
// the watchpoint said.
Effect apply(const Decoded& decoded, const mcontext_t& context, uintptr_t instruction, Taint& taint,
             When when = When::before);

}  // namespace diogenes::values
