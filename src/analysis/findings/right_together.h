// Findings that are right alone and not with each other: memory that is kept and used again, and a wait that such memory
// needs (kConditionNewMemory). In: the problems with their figures. Out: the side that gains less stands apart: no group and
// no figure of several has it.
#pragma once
#include "analysis/findings/problems.h"

namespace diogenes {

// Is memory kept and used again by the problem's fix?
bool keeps_memory(const Problem& problem);

// `models` null: the model `paper`.
void set_apart(std::vector<Problem>& problems, const EventGraph& graph, const Models* models);

}  // namespace diogenes
