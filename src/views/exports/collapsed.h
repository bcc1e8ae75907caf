// Folded stacks for flame-graph tools (flamegraph.pl, speedscope, inferno): a line a problem, frames from the outside
// in, `;` between them, what the problem is as the last one, and behind it the microseconds that fixing it alone saves.
// In: a report. Out: the whole file. Problems that save nothing have no line. Savings of different problems may
// overlap, so the sum may be more than all fixes together save.
#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

// Frames of a problem's stack as words, from the outside in: "als::step (als.cc:88)"; last what the problem is.
std::vector<std::string> flame_frames(const ReportProblem& problem);

std::string to_collapsed(const Report& report);

}  // namespace diogenes
