#include "agent/guard/watch_pieces.h"

#include <algorithm>

namespace diogenes::agent {

namespace {

// The largest piece that one register can watch there.
AddressRange piece_at(uintptr_t at, uintptr_t end) {
  uintptr_t bytes = 8;
  while (at % bytes != 0 || bytes > end - at) bytes /= 2;
  return AddressRange::of(at, bytes);
}

}  // namespace

WatchPieces watch_pieces(AddressRange range) {
  WatchPieces result;
  for (uintptr_t at = range.begin; at < range.end;) {
    if (result.count == kWatchRegisters) return {};
    AddressRange piece = piece_at(at, range.end);
    result.pieces[result.count++] = piece;
    at = piece.end;
  }
  return result;
}

}  // namespace diogenes::agent
