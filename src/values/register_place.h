// Which register a name means, and which of its bytes. In: a register as Zydis names it. Out: where taint.h keeps what is
// known of it; of a general register, its value in a context.
#pragma once
#include <ucontext.h>

#include <cstdint>

#include "values/decoder.h"

namespace diogenes::values {

// Where a register's bytes lie in Taint.
struct Place {
  enum Kind : uint8_t { none, general, vector, opmask, x87 } kind = none;
  uint8_t number = 0, from = 0, bytes = 0;  // from: ah, bh, ch, dh are the second byte
};

Place place_of(ZydisRegister name);

// Of a general register, whatever part of it is named; -1: it is none.
int general_number(ZydisRegister name);

// Register by its number in instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, ...
uint64_t general_register(const mcontext_t& context, int number);

}  // namespace diogenes::values
