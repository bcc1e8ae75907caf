// Stage 3 with its small results shared out among further runs (`--thorough`). The first run watches what its
// watchpoints can; small results that it could not watch count as touched by anybody. Each further run watches
// one share of all small results (ffm/plan.h, watch_shares), and takes the rest for untouched. What is needed
// in any run is needed; a wait that the first run called needed for nothing but small results it did not
// watch is needed only if one of the others says so.
//
// In: the first run, and the folders of the others. Out: the first run's evidence.
#pragma once
#include <filesystem>

#include "analysis/run.h"

namespace diogenes {

// Waits that are needed only because small results could not be watched.
uint64_t count_unwatched(const Run& memory_tracing);
// The same, of the session's first run of stage 3. 0: it cannot be read.
uint64_t count_unwatched(const std::filesystem::path& session);

// Changes nothing where a share is missing, or where the runs did not give the GPU the same work in the same
// order: then their parts do not fit together.
void join_watch_shares(Run& first, const std::filesystem::path& session, SiteTable& sites);

}  // namespace diogenes
