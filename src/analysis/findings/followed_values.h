// What became of values behind their first use, where stage 4 followed them. In: the run of stage 4 with its verdicts. Out:
// by site of the call that waited for the value, what depended on it first, and for how many instances that is known.
// Which instructions are worth following is told here, too: those that use first what costs much.
#pragma once
#include "analysis/findings/required.h"
#include "ffm/plan.h"

namespace diogenes {

struct ValueOutcome {
  ValueUse use = ValueUse::window;
  StackPlace place;  // of the use; no stack: it has none
  uint64_t count = 0;
  std::vector<int64_t> after_ns;  // from the first touch, ascending
};

// Of one site.
struct FollowedValues {
  uint64_t instances = 0;                            // whose first use by an instruction was seen
  uint64_t followed = 0;                             // of these
  uint64_t copied = 0, converted = 0, computed = 0;  // of `followed`: before the consequence
  uint64_t later = 0;                                // ... which a copy had that was watched
  uint64_t elsewhere = 0;                            // ... while others were not
  std::vector<ValueOutcome> outcomes;                // the most frequent first
};

// By site. While the run has its operations.
std::vector<FollowedValues> followed_values(const Run& sync_use, const SiteTable& sites);

constexpr bool is_consequence(ValueUse use) { return use <= ValueUse::nothing; }

// The instructions behind needed waits that take 2% of the GPU phase or more together. A misplaced wait is needed, too.
std::vector<FollowedPlace> places_to_follow(const std::vector<Required>& required,
                                            const std::vector<Problem>& problems, Nanoseconds gpu_phase);

}  // namespace diogenes
