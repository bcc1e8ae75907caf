// One call, decoded once, before it runs: what it does in the terms of the records. This is where the
// program's memory is read and the driver is asked; nothing here takes a lock for longer than a look into a
// table. In: a Call. Out: a DecodedCall, completed after the call where its results are needed (complete()).
// Which synchronization is needed is no matter here: that is judged in the analysis (ARCHITECTURE.md).
#pragma once
#include "agent/core/calls/call.h"
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

// Calls that change neither order nor memory: nothing is decoded.
bool is_idle(const Call& call);
bool gives_work(const Call& call);

void decode(const Call& call, DecodedCall& decoded);
// What a launch that succeeded was given: the driver has read it, so it is there.
void decode_launched(const Call& call, DecodedCall& decoded);

}  // namespace diogenes::agent::facts
