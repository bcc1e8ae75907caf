// Addresses of pinned and registered memory that kernels find without being given it. There is one rule: an aligned word that
// is such an address, in a copy to the device of at most 64 KiB, in what a stream writes, or in the host's memory that a launch is
// given. From then on every kernel counts as reaching that memory. (A fill repeats 4 bytes at most, and so writes no address.)
// Kernels may find an address otherwise; what rests on it that they do not, the analysis says (docs/necessity.md).
#pragma once
#include "agent/core/memory/address_bounds.h"
#include "agent/watching/facts/decoding/operands.h"
#include "trace/searched_copies.h"

namespace diogenes::agent::facts {

AddressBounds known_memory();  // the driver's allocations lie in here
// Bytes that lie at `at` for the device. At most as many as KernelAddresses holds.
void look_for_addresses(const AddressBounds& bounds, const void* bytes, uint64_t count, uint64_t at);
void look_at_word(uint64_t at, uint64_t word);
// A kernel was given `operands`. False: what it shares with the CPU is too much to look through, or cannot be read, so it may
// reach any memory of the host's. Reads the program's memory.
bool look_at_given(const Operands& operands);
// All of these under no lock.

}  // namespace diogenes::agent::facts
