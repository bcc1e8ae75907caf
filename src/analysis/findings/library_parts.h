// Parts of a Python library's call that wait, and that the advice does without: the check of a distribution's arguments, or the
// removal of self-loops inside of a layer. There not only the wait goes, but all that the part gives the GPU, and the CPU's time in it.
// In: the calls of a thread, where the line waits, and what is known of their stacks. Out: the first and the last call of each part.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/findings/turns.h"

namespace diogenes {

struct LibraryPart {
  uint32_t begin, last;  // positions in the thread
  uint32_t waits;        // of the line, that are made in it
};

// `waits`: positions in the thread of the line's waits, in order. Calls in a row belong to one part, as far as `in_part_of` says so
// of the wait. A part of many calls, or kernels, does more than to prepare or to check, so it is none.
std::vector<LibraryPart> library_parts_of(const std::vector<Operation>& operations, const SiteTable& sites,
                                          const std::vector<uint32_t>& waits, const InFunctionOf& in_part_of);

}  // namespace diogenes
