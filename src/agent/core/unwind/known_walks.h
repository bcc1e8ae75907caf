// Walks that were made before: a walk is a function of where it begins and of the words that it reads on the
// stack. Where all of them are what they were, its stack is, too, and no frame is looked at again. In: walks
// with the words they read, and their stacks. Out: the stack of a walk that would be the same.
#pragma once
#include "agent/core/unwind/walker.h"

namespace diogenes::agent {

// The stack of the same walk, or kNoStack. Signal-safe; takes no lock that it would wait for.
uint32_t find_known_walk(const Registers& from);
void keep_walk(const Registers& from, const WordsRead& words, uint32_t stack);

}  // namespace diogenes::agent
