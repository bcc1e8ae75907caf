// Reads a call: its stream, its work, the memory on both sides of a transfer.
#pragma once
#include "agent/necessity/state.h"

namespace diogenes::agent {

// Does the call give its stream work? Waiting for an event is order, and no work.
bool is_work(const Call& call);

// Outside the lock.
void describe(State& state, const Call& call, Effect& effect, GivenAddresses& given);

// The slot of the effect's stream; kNoSlot where it cannot be known. Outside the lock: an unknown handle is
// asked of the driver, unless `may_ask` is not set.
Slot slot_of(State& state, const Effect& effect, bool may_ask);

}  // namespace diogenes::agent
