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

}  // namespace diogenes::agent
