// What kernels reach: the allocations that they are given, and by what lies there, others.
//
// Not seen, and so the condition of a verdict that rests on arguments: memory that a kernel reaches by an
// address which it finds where found_addresses.h does not look; module variables whose address was never asked for.
#pragma once
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

// The memory that kernels reach by the words in decoded.kernel_addresses. Under no lock.
void add_kernel_operands(DecodedCall& decoded);

}  // namespace diogenes::agent::facts
