// Stage 3 with its small results shared out among further runs (`--thorough`). The first run watches what its
// watchpoints can; small results that it could not watch count as touched by anybody. Each further run
// watches one share of all small results (ffm/plan.h, watch_shares), and takes the rest for untouched. What
// is needed in any run is needed; a wait that the first run called needed for nothing but small results it
// did not watch is needed only if one of the others says so.
//
// In: the first run, and the folders of the others. Out: the first run's evidence.
#pragma once
#include <filesystem>

#include "analysis/run.h"
#include "ffm/plan.h"

namespace diogenes {

// Which run of stage 3 has a share in a round.
constexpr int watch_run(uint8_t round, uint8_t share) { return 2 + round * kWatchShares + share; }

// Loads the first run and takes in the others that are there. A round changes nothing where a share of it is
// missing, or where its runs did not give the GPU the same work in the same order as the first: then their
// parts do not fit together.
Result<Run> load_memory_tracing(const std::filesystem::path& session, SiteTable& sites,
                                JudgeProcess judge = necessity::judge_process);

// Waits that are needed only because small results could not be watched. 0: the session cannot be read.
uint64_t count_unwatched(const std::filesystem::path& session);

}  // namespace diogenes
