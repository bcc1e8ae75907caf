// What a launch of an executable graph does, taken together as one piece of work. In: its nodes, as the
// driver tells them when the graph is instantiated or updated (graph_reader.cc). Out, at each launch:
// operands, by the memory that there is then: what is registered or allocated after the instantiation counts,
// too.
//
// New parameters of one node are added to what the node did before: what no longer happens costs precision
// only.
#pragma once
#include "agent/core/calls/call.h"
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

// After graph calls that succeeded: reads what was instantiated or updated. Outside the lock.
void after_graph_call(const Call& call);
// Before the call: what is destroyed is known no more. Outside the lock.
void before_graph_call(const Call& call);
// A launch: fills in what it does. Outside the lock.
void decode_graph_launch(const Call& call, DecodedCall& decoded);

}  // namespace diogenes::agent::facts
