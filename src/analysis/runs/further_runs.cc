#include "analysis/runs/further_runs.h"

#include <cstdlib>

namespace diogenes {

FurtherRuns further_runs(const RunsSoFar& so_far) {
  FurtherRuns further;
  if (100 * so_far.benefit.count < so_far.runtime.count) return further;
  further.gpu_times =
      so_far.gpu_times_of_stage_3 && so_far.waited.count > 0 && differs(so_far.missed, so_far.waited);
  Nanoseconds benefit, gaps, apart;
  for (const MisplacedSite& site : so_far.misplaced) {
    benefit += site.benefit;
    gaps += site.gaps.tracing;
    // Of the instances of one site longer and shorter gaps even out; of several sites they do not.
    apart += {std::abs((site.gaps.memory_tracing - site.gaps.tracing).count)};
  }
  further.sync_use = differs(benefit, so_far.benefit) && differs(apart, gaps);
  return further;
}

}  // namespace diogenes
