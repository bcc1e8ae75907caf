// How far an instruction may reach from the address at which it faulted. A full decoder does not belong into
// a target; a bound that is never too small is enough to tell an access beside a range from one that runs
// into it.
#pragma once
#include <cstdint>

namespace diogenes::agent {

struct Reach {
  uint32_t bytes = 0;     // at most so many, from the faulting address up
  bool string = false;    // also at (%rsi) and (%rdi)
  bool anywhere = false;  // gathers, state saving, what is not known: more places than the faulting one
  uint32_t element = 0;   // bytes: a repeated movs, stos or lods, which goes on through %rcx elements; else 0
};

// `code`: what could be read at the instruction, up to 15 bytes.
Reach reach_of(const uint8_t* code, uint32_t length);

}  // namespace diogenes::agent
