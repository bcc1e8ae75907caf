#include "analysis/runs/polls.h"

namespace diogenes {
namespace {

// Between two queries: what a loop's own code takes, and what recording does.
constexpr Nanoseconds kLongestBetween{20'000};

}  // namespace

std::vector<Poll> polls_of(const std::vector<Operation>& operations, const SiteTable& sites) {
  std::vector<Poll> polls;
  uint32_t first = UINT32_MAX;  // of the queries in a row that said 'not ready'
  for (uint32_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    const DriverFunction* function = function_of(sites[operation.site]);
    if (!function || function->role != Role::query || operation.has(kCapturing)) {
      first = UINT32_MAX;
      continue;
    }
    const bool goes_on = first != UINT32_MAX && operations[i - 1].site == operation.site &&
                         operation.begin - operations[i - 1].end() <= kLongestBetween;
    if (!goes_on) first = UINT32_MAX;
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
