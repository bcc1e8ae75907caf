// The part of a run that its program marked with cuProfilerStart and cuProfilerStop (cudaProfilerStart, PyTorch's
// torch.cuda.profiler). In: the tracing run. Out: what lies outside is marked so; it stays in the schedule. A part begins
// where a call of cuProfilerStart returns, and ends with the next cuProfilerStop, whichever threads these are in, or with
// the process. A process that never calls cuProfilerStart, beside one that does, lies outside.
#pragma once
#include <optional>

#include "analysis/run.h"

namespace diogenes {

struct MarkedPart {
  uint64_t times = 0;
  Nanoseconds time;  // of the process in which it is longest
};

// None: no process marks one, and nothing is outside.
std::optional<MarkedPart> mark_what_is_outside(Run& tracing, const SiteTable& sites);

}  // namespace diogenes
