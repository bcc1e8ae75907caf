// A random trace: two or three threads and streams, events, locks by chance and hand-overs that force an
// order, watched and unwatched memory, queries, gates.
#pragma once
#include <cstdint>

#include "analysis/necessity/testing/literal_timeline.h"

namespace diogenes::necessity::testing {

Timeline random_timeline(uint64_t seed, size_t steps);

}  // namespace diogenes::necessity::testing
