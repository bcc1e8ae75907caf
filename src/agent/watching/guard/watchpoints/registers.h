// Which guard has which of the processor's four watchpoints. A guard keeps its own until it is touched or lowered: a range that
// needs more than are free is refused. A register that is free again stays on its piece on other threads until it is needed
// elsewhere, or until they touch it (watchpoints.h). All under the table's lock.
#pragma once
#include "agent/watching/guard/guard.h"
#include "agent/watching/guard/watchpoints/watchpoints.h"

namespace diogenes::agent {

inline constexpr uint32_t kNobody = ~0u;
struct Register {
  uint32_t guard = kNobody;
  AddressRange piece;  // of a free one: where some threads may still have it
};
extern Register registers[kWatchRegisters];
inline bool is_free(const Register& one) { return one.guard == kNobody; }

// Puts registers on the live guard's range. False: `why`.
bool give_registers(uint32_t id, Guard& guard, NoWatchpoints& why);
void take_registers(Guard& guard);

// Was the guard touched, and the signal did not come (yet)?
bool touched_unseen(const Guard& guard);

// The frame that the guarded memory lies in has ended: nothing in it is used any more.
bool frame_ended(const FrameMarks& frame);

}  // namespace diogenes::agent
