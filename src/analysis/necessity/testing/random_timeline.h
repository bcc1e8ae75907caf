// A random trace: two or three threads and streams, events, locks by chance and hand-overs that force an
// order, watched and unwatched memory, queries, gates.
#pragma once
#include <cstdint>
#include <cstdlib>

#include "analysis/necessity/testing/literal_timeline.h"

namespace diogenes::necessity::testing {

Timeline random_timeline(uint64_t seed, size_t steps);

// How many a test looks at: DIOGENES_RANDOM_TRACES, else what is usual.
inline uint64_t random_traces(uint64_t usual) {
  const char* wanted = std::getenv("DIOGENES_RANDOM_TRACES");
  return wanted ? std::strtoull(wanted, nullptr, 10) : usual;
}

}  // namespace diogenes::necessity::testing
