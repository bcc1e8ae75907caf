// The calls that `diogenes prove` corrects for a finding. In: a session's tracing run, keys of the report's findings. Out: the
// sites as the agent knows them (trace/site_key.h). Python's frames tell more than the agent's key does: places that only
// Python's lines tell apart have one key, and are corrected together.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "ffm/plan.h"

namespace diogenes {

// By ReportProblem::key or ReportRequired::key; of calls that can be corrected (is_corrected(), trace/corrector_services.h).
using CorrectedSites = std::map<std::string, std::vector<CorrectedSite>>;
Result<CorrectedSites> corrected_sites(const std::filesystem::path& stage_folder,
                                       const std::vector<std::string>& keys);

}  // namespace diogenes
