// A small range in pieces as the processor's watchpoints take them: 1, 2, 4 or 8 bytes, aligned to their
// size. Pure arithmetic.
#pragma once
#include <cstdint>

#include "base/range.h"

namespace diogenes::agent {

inline constexpr uint32_t kWatchRegisters = 4;

struct WatchPieces {
  uint32_t count = 0;  // 0: more than there are registers
  AddressRange pieces[kWatchRegisters];
};

// The fewest pieces that make up the range, and not a byte beside it.
WatchPieces watch_pieces(AddressRange range);

// What one of several runs watches of a range that needs more registers than there are.
struct WatchPart {
  AddressRange range;
  uint32_t of;  // so many parts, each as many pieces as there are registers; 1: the whole range
};
// `part`: of any number; they come round again.
WatchPart watch_part(AddressRange range, uint32_t part);

}  // namespace diogenes::agent
