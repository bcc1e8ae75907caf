// Why the GPU is idle, as text: what the CPU did meanwhile, and the places at which it did most of it.
#pragma once
#include <cstddef>

#include "analysis/report/report.h"
#include "views/text/page.h"

namespace diogenes {

// At most `most` places, a line each. Nothing where it is not worth a word.
void idle_table(Page& page, const ReportProfile& profile, size_t most);

}  // namespace diogenes
