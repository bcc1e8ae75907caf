// Numbers for streams and events, as the trace has them: handles are addresses, and reused.
#pragma once
#include "agent/core/calls/call.h"

namespace diogenes::agent {

// Before the call: call.stream and call.object from its arguments; a destroyed handle is forgotten.
void number_objects(Call& call);
uint32_t number_of_event(uint64_t handle);  // 0: none

// A stream capture was begun in this process, or is about to be.
bool any_capture_begun();
// One was begun, and has not ended.
bool capture_under_way();

// After a creation: a handle that was known before is another object now.
void number_new_objects(Call& call);

// Appends the TransferRecord or AllocationRecord that belongs to the operation just appended.
void append_arguments(const Call& call);

}  // namespace diogenes::agent
