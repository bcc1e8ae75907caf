// Whether GPU times or first uses are worth a run of their own. Stage 3 tells both beside its guards: how
// long GPU work took, and between which calls a first use lies. That is good enough where the program ran
// there as in stage 2. In: what the analysis of stages 1 to 3 found. Out: the runs that would make its
// figures surer.
#pragma once
#include <vector>

#include "analysis/runs/join.h"
#include "ffm/plan.h"

namespace diogenes {

struct FurtherRuns {
  bool gpu_times = false;
  bool sync_use = false;
  std::vector<FollowedPlace> follow;  // in the run of stage 4: where values are followed (followed_values.h)
};

struct MisplacedSite {
  Nanoseconds benefit;
  TimeInBoth gaps;
};

struct RunsSoFar {
  Nanoseconds runtime;
  Nanoseconds benefit;                   // of all problems, each fixed alone
  std::vector<MisplacedSite> misplaced;  // whose first uses stage 3 alone has placed
  Nanoseconds waited;                    // by the calls of all problems, in stage 2
  // By how much stage 2 waited longer or shorter than it would have with stage 3's GPU times. Stage 3's own
  // waits would say less: recording makes the CPU later there and the waits shorter, and the GPU's times stay
  // the same.
  Nanoseconds missed;
  bool gpu_times_of_stage_3 = false;
};

// What counts as a difference: more than 10%.
constexpr bool differs(Nanoseconds by, Nanoseconds of) { return 10 * by.count > of.count; }

// None for a benefit of less than 1% of the run time. GPU times: where the waits of the problems differ from
// what stage 3's GPU times give. First uses: where misplaced synchronizations carry more than 10% of the
// benefit, and the gaps of theirs differ.
FurtherRuns further_runs(const RunsSoFar& so_far);

}  // namespace diogenes
