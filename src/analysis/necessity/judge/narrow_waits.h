// Waits of which less would do. A wait for a whole context: for the stream alone to which its thread gave its work last. A copy to
// the host in the legacy stream, which waits for all streams: the same copy in the stream whose work wrote what it brings, and a
// wait for that. In: a process's events, and which synchronizations are needed. Out: that stream for each of those; tried all
// together by the check (check.h), which takes from each what else it covers.
#pragma once
#include <vector>

#include "analysis/necessity/judge/check.h"
#include "analysis/necessity/order/both_orders.h"

namespace diogenes::necessity {

// No stream where nothing less would do, or where the wait is not needed at all. Empty: there are none.
Narrow narrow_waits(const Replay& replay, const std::vector<bool>& needed);

}  // namespace diogenes::necessity
