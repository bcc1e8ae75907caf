// Waits for a whole context of which less would do: a wait for the stream alone to which their thread gave its work last.
// In: a process's events, and which synchronizations are needed. Out: that stream for each of those; tried all together by the
// check (check.h), which takes from each what else it covers.
#pragma once
#include <vector>

#include "analysis/necessity/judge/check.h"

namespace diogenes::necessity {

// One for each `covers` event: invalid where nothing less would do, or where it is not needed at all.
std::vector<StreamNumber> narrow_waits(const Replay& replay, const std::vector<bool>& needed);

}  // namespace diogenes::necessity
