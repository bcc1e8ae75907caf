// A line that is reached from several places, where some of its waits are needless and others needed: which. In: the problems of a
// report, the stacks of needed waits. Out: a condition of each such problem, "callers".
#pragma once
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

void tell_callers_apart(std::vector<ReportProblem>& problems,
                        const std::vector<std::vector<ReportFrame>>& needed);

}  // namespace diogenes
