#include "agent/watching/guard/watchpoints/registers.h"

#include <algorithm>

#include "agent/watching/guard/threads/threads.h"

namespace diogenes::agent {

Register registers[kWatchRegisters];

namespace {

uint32_t free_registers(uint32_t there) {
  return static_cast<uint32_t>(std::count_if(registers, registers + there, is_free));
}

// A free one: that is on the piece already, else one that is on nothing.
uint32_t best_register(AddressRange piece, uint32_t there) {
  uint32_t best = kNobody;
  for (uint32_t i = 0; i < there; ++i) {
    if (!is_free(registers[i])) continue;
    if (registers[i].piece == piece) return i;
    if (best == kNobody || registers[i].piece.empty()) best = i;
  }
  return best;
}

}  // namespace

bool give_registers(uint32_t id, Guard& guard, NoWatchpoints& why) {
  WatchPieces pieces = watch_pieces(guard.range);
  why = NoWatchpoints::does_not_fit;
  if (pieces.count == 0) return false;
  uint32_t there = watch_registers();
  if (there == 0) why = no_watchpoints_here() ? NoWatchpoints::none_here : NoWatchpoints::not_now;
  if (there < pieces.count) return false;
  why = NoWatchpoints::all_taken;
  if (free_registers(there) < pieces.count) return false;
  why = NoWatchpoints::not_now;
  for (uint32_t n = 0; n < pieces.count; ++n) {
    uint32_t i = best_register(pieces.pieces[n], there);
    if (!arm_watchpoint(i, pieces.pieces[n], guard.protection)) {
      registers[i].piece = {};
      take_registers(guard);
      return false;
    }
    registers[i] = {id, pieces.pieces[n]};
    guard.registers |= static_cast<uint8_t>(1u << i);
  }
  return true;
}

void take_registers(Guard& guard) {
  for (uint32_t i = 0; i < kWatchRegisters; ++i) {
    if (!(guard.registers & 1u << i)) continue;
    disarm_watchpoint(i);
    registers[i].guard = kNobody;
  }
  guard.registers = 0;
}

bool touched_unseen(const Guard& guard) {
  for (uint32_t i = 0; i < kWatchRegisters; ++i)
    if (guard.registers & 1u << i && watchpoint_hits(i) != 0) return true;
  return false;
}

bool frame_ended(const FrameMarks& frame) {
  for (uint32_t i = 0; i < frame.count; ++i) {
    // Its thread may have ended, and its stack be gone.
    uintptr_t now = 0;
    const auto* place = reinterpret_cast<const void*>(frame.places[i]);
    if (copy_watched_if_there(&now, place, sizeof now) && now != frame.addresses[i]) return true;
  }
  return false;
}

}  // namespace diogenes::agent
