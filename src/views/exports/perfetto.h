// The timeline for ui.perfetto.dev and chrome://tracing, as Chrome's JSON trace events ('Trace Event Format'). In: a
// report with a timeline. Out: the whole file. A process has a track for each thread, and below it one with its
// problematic calls alone; streams of the GPU are a process of their own. Slices have the finding, its fix and what it
// saves as arguments. Slices of one track are made not to overlap, as the format demands: of merged events
// (report_timeline.h) the end is cut where the next one begins, and `busy_us` has their time.
#pragma once
#include <string>

#include "analysis/report/report.h"

namespace diogenes {

std::string to_perfetto(const Report& report);

}  // namespace diogenes
