// What a site's calls stand between: what findings say in `conditions` because it was seen, and cannot be
// decided. In: the run of stage 3, in which every call is recorded. Out: figures by site.
//
// Not seen: whether the program looks at a call's result.
#pragma once
#include <vector>

#include "analysis/runs/run.h"

namespace diogenes {

// As many launches as a stream's queue takes before the next one waits (facts: docs/driver-facts.md).
inline constexpr uint64_t kLaunchQueue = 1000;

struct CallContext {
  uint64_t waits = 0;
  uint64_t errors_first = 0;    // waits that are the first behind a launch: they return its errors
  uint64_t elapsed_behind = 0;  // waits that cuEventElapsedTime follows, which needs them
  uint64_t most_launches = 0;   // in a row between waits, without this site's own ones
};

// By site.
std::vector<CallContext> call_contexts_of(const Run& run, const SiteTable& sites);

}  // namespace diogenes
