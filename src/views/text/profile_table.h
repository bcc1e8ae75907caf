// Time by driver function, as a profiler shows it, beside what could be gained (SC'19, Table 2).
#pragma once
#include "analysis/report/report.h"
#include "views/text/page.h"

namespace diogenes {

// `most` rows, the longest time first.
void profile_table(Page& page, const Report& report, size_t most);

}  // namespace diogenes
