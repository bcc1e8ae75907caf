// Contexts inside kernels, below each call that launched them. In: the report's contexts and GPU work. Out: contexts for functions,
// loops and lines of the GPU's code. A kernel's GPU time there is shared out by its samples; which of its launches a sample
// belongs to is not known, so that all have the same shares.
#pragma once
#include <vector>

#include "analysis/report/report_profile.h"

namespace diogenes {

// Adds at most so many, those with the most time. What is left out stays with the node that it lies in, so that no time is lost.
void add_inside_kernels(std::vector<ReportContext>& contexts, const std::vector<ReportGpuWork>& work,
                        size_t most);

}  // namespace diogenes
