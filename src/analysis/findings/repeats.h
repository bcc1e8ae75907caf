// `diogenes run --repeat N`: the tracing run is done N times, and each gives figures of its own. In: the
// report by the first of them, and those by the others. Out: the first, its figures the medians of all, its
// ranges holding all of theirs.
#pragma once
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// The groups of `others` are those of the report, in its order: what fixing the same problems gains there. A problem or
// needed wait (by key) or a function that another run did not show gains nothing there. They are put in the order of the
// new figures, and get their ids by it; a needed wait that costs nothing then is left out.
void unite_repeats(Report& report, const std::vector<Report>& others);
// The same for the figure of some problems together.
void unite_repeats(ReportTogether& together, const std::vector<ReportTogether>& others, double runtime_s);

}  // namespace diogenes
