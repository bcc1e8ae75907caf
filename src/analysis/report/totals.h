// What a run did in all: counts, times, bytes, by driver function and together. In: the run of stage 2. Out: the
// report's sums, an entry for each function that was called, and a notice of waits that nobody asked for.
#pragma once
#include <map>
#include <string>

#include "analysis/report/report.h"
#include "analysis/runs/run.h"

namespace diogenes {

// `functions`: by operation_name().
void add_totals(const Run& tracing, const SiteTable& sites, Report& report,
                std::map<std::string, ReportFunction>& functions);

}  // namespace diogenes
