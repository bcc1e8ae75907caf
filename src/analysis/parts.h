// Stage 3 in more than one run. A small range may need more watchpoints than the processor has, alone or with
// others; then the run number K, from 0, watches part K of each, round and round, and the runs behind the
// first only those that still hang on something. What was used in any run was used; unused is what was
// watched whole, and unused in all runs. In: the session's folders of stage 3. Out: one run, as if it had
// seen everything.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/run.h"

namespace diogenes {

// Loads the first run and takes in the others that are there. What hangs on something that none of them
// watched counts as needed. What was used is not moved where there were more parts than one: the first use is
// not known.
Result<Run> load_memory_tracing(const std::filesystem::path& session, SiteTable& sites);

// The sites that hang on what no run has watched yet; for the plan of the next one.
Result<std::vector<SiteKey>> sites_to_watch(const std::filesystem::path& session);

}  // namespace diogenes
