// Function bounds from `.eh_frame`: start and size of every FDE. The rest of the unwind rules is not looked
// at. Source: Linux Standard Base 5.0, 10.6; DWARF 4, 6.4.1. In: the section's bytes. Out: bounds as virtual
// addresses.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace diogenes {

struct FunctionBounds {
  uint64_t begin;  // virtual address
  uint64_t size;
};

// `address` is the virtual address of the first byte. Stops at the terminator, at the end, or at the first
// record that makes no sense; records with an unknown encoding are left out.
std::vector<FunctionBounds> parse_eh_frame(std::span<const uint8_t> section, uint64_t address);

// Reads one pointer in a DW_EH_PE_ encoding at `*position`, and moves it on. False where that is not
// possible. `address`: virtual address of the span's first byte, for pc-relative ones.
bool read_encoded(std::span<const uint8_t> bytes, uint64_t address, uint8_t encoding, size_t* position,
                  uint64_t* value);

}  // namespace diogenes
