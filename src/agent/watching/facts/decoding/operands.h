// Lists of operands: what one call's work, or the call itself, reads and writes. A call builds its list here
// and interns it: lists that are equal are written once, as stacks are (trace/format.h, OperandRecord).
// A list that gets too long says so by its flags, which is always the careful answer.
#pragma once
#include <cstdint>

#include "base/range.h"
#include "trace/fact_records.h"

namespace diogenes::agent::facts {

struct Operands {
  static constexpr int kMaximum = 192;
  OperandRecord list[kMaximum];
  int count;
  uint32_t flags;  // OperandListFlag

  void clear() { count = 0, flags = 0; }
  bool empty() const { return count == 0 && flags == 0; }
  // Equal operands are listed once. No room: any memory of that kind.
  void add(AddressRange range, MemoryKind kind, uint8_t access);
};

// The list's index in the file `operands`; 0: it is empty, or could not be written (`*lost`).
uint32_t intern_operands(const Operands& operands, bool* lost);

// A forked child starts anew.
void forget_operands();

}  // namespace diogenes::agent::facts
