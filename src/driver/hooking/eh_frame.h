// Function bounds from `.eh_frame`: start and size of every FDE. The rest of the unwind rules is not looked
// at. Source: Linux Standard Base 5.0, 10.6; DWARF 4, 6.4.1. In: the section's bytes. Out: bounds as virtual
// addresses. Not by libdw: `dwarf_next_cfi` of 0.188, on which all of its unwinding rests, reads beyond a section whose
// last CIE has a letter of the augmentation without its data (tests/fuzz/corpus/eh_frame/letter-without-data).
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

}  // namespace diogenes
