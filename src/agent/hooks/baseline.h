// Stage 1, near-zero overhead: which paths lead into the wait function. A walk for every wait would cost more
// than the stage may, so a path is recognised by the caller's return address and the stack pointer, and
// walked while it is new and ever more rarely after: a path that hides behind an equal pair is still found if
// it occurs often.
#pragma once
#include <cstdint>

namespace diogenes::agent {

bool wait_stack_is_due(uint64_t caller, uintptr_t stack_pointer);

// Once for each stack of this process.
bool first_sight_of(uint32_t stack);

}  // namespace diogenes::agent
