// Stage 3 in more than one run. A small range may need more watchpoints than the processor has, alone or with
// others. The first run watches what it can, and tells what it could not; each further run watches what is in
// its plan. What was used in any run was used; unused is what the runs together watched whole, and found
// unused. In: the session's folders of stage 3. Out: one run, as if it had seen everything.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/run.h"

namespace diogenes {

// Loads the first run and takes in the others that are there. What hangs on something that none of them
// watched counts as needed. What was used is not moved where there were more parts than one: the first use is
// not known.
Result<Run> load_memory_tracing_in_parts(const std::filesystem::path& session, SiteTable& sites);

// What the next run is to watch, of what none has watched yet: as much as fits into the watchpoints of every
// instance that hangs on it.
struct ToWatch {
  std::vector<PartKey> parts;  // ascending
  size_t open = 0;             // parts that none has watched
};
Result<ToWatch> parts_to_watch(const std::filesystem::path& session);

}  // namespace diogenes
