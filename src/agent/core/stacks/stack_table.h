// Interned stacks of this process: a table from return addresses to the stack's place in the `stacks` file.
#pragma once
#include <cstdint>
#include <span>

#include "trace/format.h"

namespace diogenes::agent {

// The stack with these addresses, or kNoStack: new, or forgotten with the modules that it was in. Takes no
// lock.
uint32_t known_stack(const uintptr_t* addresses, int count);

// `addresses`: innermost first, already what a symbolizer takes. `cut`: outer frames are missing.
// `in_signal`: give up rather than wait for the lock. kNoStack: dropped and counted.
uint32_t intern_stack(const uintptr_t* addresses, int count, bool cut, bool in_signal);

// A stack with frames of Python behind its own; it is not looked for among those that are there.
uint32_t extend_stack(uint32_t stack, const Frame* frames, int count, uint32_t cut, bool in_signal);

// Its frames, which stay where they are until the process forks.
std::span<const Frame> frames_of(uint32_t stack);

// A forked child starts anew.
void forget_stacks();

}  // namespace diogenes::agent
