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

WatchPart watch_part(AddressRange range, uint32_t part) {
  uint32_t count = 0;
  for (uintptr_t at = range.begin; at < range.end; ++count) at = piece_at(at, range.end).end;
  WatchPart result{range, std::max(1u, (count + kWatchRegisters - 1) / kWatchRegisters)};
  if (result.of == 1) return result;
  uint32_t first = part % result.of * kWatchRegisters;
  uintptr_t at = range.begin;
  for (uint32_t i = 0; i < first; ++i) at = piece_at(at, range.end).end;
  result.range.begin = at;
  for (uint32_t i = 0; i < kWatchRegisters && at < range.end; ++i) at = piece_at(at, range.end).end;
  result.range.end = at;
  return result;
}

}  // namespace diogenes::agent
