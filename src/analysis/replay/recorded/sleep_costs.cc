#include "analysis/replay/recorded/sleep_costs.h"

#include <algorithm>

namespace diogenes::replay {

SleepCosts::SleepCosts(std::vector<SleepCost> measured) : measured_(std::move(measured)) {
  std::erase_if(measured_, [](const SleepCost& one) {
    const auto [least, most] = std::minmax({one.slept, one.wakes_after, one.waker_pays});
    return least < 0 || most > kLongestSleepCost;
  });
  std::sort(measured_.begin(), measured_.end(),
            [](const SleepCost& a, const SleepCost& b) { return a.slept < b.slept; });
}

int64_t SleepCosts::at(int64_t slept, int64_t SleepCost::*cost) const {
  if (measured_.empty()) return 0;
  const auto next = std::upper_bound(measured_.begin(), measured_.end(), slept,
                                     [](int64_t value, const SleepCost& one) { return value < one.slept; });
  if (next == measured_.begin()) return measured_.front().*cost;
  const SleepCost& before = *(next - 1);
  if (next == measured_.end()) return before.*cost;
  return before.*cost +
         ((*next).*cost - before.*cost) * (slept - before.slept) / (next->slept - before.slept);
}

}  // namespace diogenes::replay
