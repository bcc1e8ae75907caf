// Applies all findings of the judge together and looks whether every pair that was ordered still is.
// In: the same events again, and which synchronizations are needed. Out: the same, and those of the others
// without which a pair is unordered, or less surely ordered than it was; their number should be 0. It knows
// nothing of how the judge chose: it goes through the order with all synchronizations, and with those alone
// that are kept, and compares. Source: docs/necessity.md (the verdict).
#pragma once
#include <functional>
#include <vector>

#include "analysis/necessity/events.h"

namespace diogenes::necessity {

using Replay = std::function<void(EventSink&)>;  // hands the same events to the sink, each time

struct CheckResult {
  size_t withdrawn = 0;  // synchronizations that are needed in spite of the verdict
  size_t unchecked = 0;  // accesses that were forgotten because one memory had too many
};

// `needed`: one for each `covers` event, in their order.
// After every so many accesses and synchronizations it forgets what no later event can ask for. 0: after each
// event, for tests.
CheckResult withdraw_unsound(const Replay& replay, std::vector<bool>& needed, size_t forgets_after = 1024);

}  // namespace diogenes::necessity
