// The part of a run that counts: what lies outside is marked so; it stays in the schedule and in the verdicts. In: the
// tracing run. Which part it is:
// - with --region, from the begin of an NVTX range of that name to its end, whichever threads these are in. Ranges of that
//   name that lie in each other or overlap are one.
// - else what the program marked with cuProfilerStart and cuProfilerStop (cudaProfilerStart, PyTorch's
//   torch.cuda.profiler): from the return of a call of cuProfilerStart to the next cuProfilerStop.
// What is not ended ends with the process. A process without such a part, beside one that has it, lies outside.
#pragma once
#include <optional>

#include "analysis/runs/run.h"

namespace diogenes {

struct ProfiledSpan {
  uint64_t times = 0;
  Nanoseconds time;  // of the process in which it is longest
};

// None: no process has such a part, and nothing is outside.
std::optional<ProfiledSpan> mark_what_is_outside(Run& tracing, const SiteTable& sites);
std::optional<ProfiledSpan> mark_what_is_outside_ranges(Run& tracing);

// Why --region shows nothing: which ranges there were.
std::string no_such_range(const std::string& region, const Run& tracing);

}  // namespace diogenes
