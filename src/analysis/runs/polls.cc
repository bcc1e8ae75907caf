#include "analysis/runs/polls.h"

namespace diogenes {
namespace {

// Between two queries: what a loop's own code takes, and what recording does.
constexpr Nanoseconds kLongestBetween{20'000};
// Behind so many without a pause, a longer one is taken for the thread's having lost its processor.
constexpr uint32_t kQuickOnes = 16;

}  // namespace

std::vector<Poll> polls_of(const std::vector<Operation>& operations, const SiteTable& sites) {
  std::vector<Poll> polls;
  uint32_t first = UINT32_MAX;  // of the queries in a row that said 'not ready'
  uint32_t quick = 0;           // of these, without a pause
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    const DriverFunction* function = function_of(sites[operation.site]);
    if (!function || function->role != Role::query || operation.has(kCapturing)) {
      first = UINT32_MAX;
      continue;
    }
    const bool at_once = i > 0 && operation.begin - operations[i - 1].end() <= kLongestBetween;
    const bool goes_on =
        first != UINT32_MAX && operations[i - 1].site == operation.site && (at_once || quick >= kQuickOnes);
    if (!goes_on) first = UINT32_MAX;
    quick = goes_on && at_once ? quick + 1 : 1;
    if (operation.has(kFailed)) {
      if (first == UINT32_MAX) first = i;
    } else {
      if (first != UINT32_MAX) polls.push_back({first, i});
      first = UINT32_MAX;
    }
  }
  return polls;
}

}  // namespace diogenes
