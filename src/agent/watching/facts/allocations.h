// What calls make and release: memory of the device and of the host's, modules' variables, graphs, streams. What is known of it is in
// facts_state.h.
#pragma once
#include "agent/core/calls/call.h"
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

// Behind a call that succeeded: what the driver told the program, or made for it. Under no lock.
void note_made(const Call& call, DecodedCall& decoded);

// Memory of the host's that the call is to register, or to release. Under no lock.
AddressRange named_memory(const Call& call);

}  // namespace diogenes::agent::facts
