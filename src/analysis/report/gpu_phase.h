// How long a run uses the GPU: what a gain is a share of where the rest is start and end. In: the joined run of stage 2.
#pragma once
#include "analysis/runs/run.h"

namespace diogenes {

// From the first operation that was recorded to give work to a GPU, or to wait for it, to the end of the last, over all
// processes; 0 where there was none.
Nanoseconds gpu_phase(const Run& tracing, const SiteTable& sites);

// That, but for stretches of 100 ms or more, and a tenth of it, in which nothing calls the driver and no GPU works: Python may
// import for seconds there. After GPU times are joined; where they are not known, all of it. Work of one thread counts as if it
// ran one after the other, so what runs beside other work may hide such a stretch.
Nanoseconds gpu_in_use(const Run& tracing, const SiteTable& sites);

}  // namespace diogenes
