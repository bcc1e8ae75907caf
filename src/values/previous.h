// The instruction before a place. A watchpoint tells of an access when the instruction has been executed, and instructions
// cannot be read backwards. In: the bytes before the place, and what was accessed. Decoding from many bytes before meets the
// instructions' true boundaries soon, whichever byte it began at; and the right one accesses the address that was touched.
#pragma once
#include <ucontext.h>

#include "base/range.h"
#include "values/decoder.h"

namespace diogenes::values {

inline constexpr uint32_t kBytesBefore = 64;

// `code`: the `bytes` bytes before `place`; `context`: the registers behind the instruction. False: it cannot be told.
bool previous_instruction(const uint8_t* code, uint32_t bytes, uintptr_t place, const mcontext_t& context,
                          AddressRange touched, Decoded& to);

}  // namespace diogenes::values
