// How long GPU operations took. In: Schedule, recorded GPU times as far as there are any. Out:
// durations. Where a time is not known it is filled in from what the waits tell: at the
// end of a wait that really waited, the work which it covers ended. All work between two such points is
// filled
//   first  by its first kernel,  equal  by all kernels alike,  last  by its last kernel;
// copies get their time from their size, by what the trace's own synchronous copies on an idle GPU took.
// Behind a wait that found nothing to wait for only a bound is known: the fills take none, half and all of
// it.
#pragma once
#include "analysis/replay/recorded/known_times.h"
#include "analysis/replay/recorded/machine.h"

namespace diogenes::replay {

enum class Fill : uint8_t { first, equal, last };

std::vector<int64_t> durations_of(const Schedule& schedule, const KnownTimes& known, const Machine& machine,
                                  Fill fill);

}  // namespace diogenes::replay
