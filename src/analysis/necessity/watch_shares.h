// Stage 3 with its small results shared out among further runs (`--thorough`). The first run watches what its
// watchpoints can; small results that it could not watch count as touched by anybody. Each further run
// watches one share of all small results (ffm/plan.h, kWatchShares), and takes the rest for untouched. What
// one of them calls needed is needed: so every use that any of them saw is kept in order.
//
// In: the session's runs of stage 3. Out: the first run, with the verdicts of the shares where they leave
// fewer open.
#pragma once
#include <filesystem>

#include "analysis/necessity/judge_process.h"
#include "ffm/plan.h"

namespace diogenes {

// Which run of stage 3 has a share.
constexpr int watch_run(uint8_t share) { return 2 + share; }

// `options`: of the first run. With shares its verdicts are checked first: theirs may take their place.
// The shares change nothing where one is missing, where their runs did not give the GPU the same work on the
// same small results, or where one needs a wait that the first run did not have: then they do not fit
// together.
Result<Run> load_memory_tracing(const std::filesystem::path& session, SiteTable& sites,
                                const JudgeOptions& options = {});

// Waits that are needed only because small results could not be watched. 0: the session cannot be read.
uint64_t count_unwatched(const std::filesystem::path& session);

}  // namespace diogenes
