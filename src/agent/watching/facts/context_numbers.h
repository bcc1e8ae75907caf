// Numbers of contexts, and the first sight of streams (trace/format.h, StreamRecord).
#pragma once
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

// Fills decoded.context, names_stream and page_tables; records a stream that was not seen before.
void name_context_and_stream(const Call& call, bool may_ask, DecodedCall& decoded);
// A stream was created: call.stream and call.object are its number and whether it is non-blocking.
void name_created_stream(const Call& call, uint16_t context);
uint16_t number_of_context(uint64_t handle);  // 0: none, or not seen yet
// The number of the context, 0: none; it is about to end, so its handle may come again.
uint16_t end_context(uint64_t handle);
uint16_t contexts_seen();  // so far, the current one among them
void forget_names();

}  // namespace diogenes::agent::facts
