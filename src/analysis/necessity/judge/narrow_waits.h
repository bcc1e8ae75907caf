// Waits of which less would do. One that only orders GPU work: the streams that get work next could wait in its place. A wait for
// a whole context: for the stream alone to which its thread gave its work last. A copy to the host in the legacy stream, which
// waits for all streams: the same copy in the stream whose work wrote what it brings, and a wait for that. In: a process's events,
// which synchronizations are needed, and which of them were seen to order GPU work and nothing else. Out: what would do for each
// of those; tried all together by the check (check.h), which takes from each what else it covers.
#pragma once
#include <vector>

#include "analysis/necessity/judge/check.h"
#include "analysis/necessity/order/both_orders.h"

namespace diogenes::necessity {

// `order`: by instance, as `needed`. No stream, and false, where nothing less would do, or where the wait is not needed at all.
// Empty: there are none.
Narrow narrow_waits(const Replay& replay, const std::vector<bool>& needed, const std::vector<bool>& order);

}  // namespace diogenes::necessity
