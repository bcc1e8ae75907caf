// Profiles that the tests of the views share (report_profile.h). Figures are made up, but consistent.
#pragma once
#include "analysis/report/report.h"

namespace diogenes {

// als, with a timeline and a profile: 14 contexts, two kernels, a copy. CPU 208 ms, driver 138 ms, waited 170 ms, GPU
// 850 ms.
Report contexts_report();
// 20,000 contexts, some as deep as 256, names of up to 4,000 characters, 300 kernels.
Report vast_profile_report();
// Names that end things in every format, and figures that are none.
Report nonsense_profile_report();

// A profile with nothing in it.
Report no_contexts_report();

}  // namespace diogenes
