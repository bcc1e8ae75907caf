#include "analysis/necessity/judge/check.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/necessity/order/both_orders.h"
#include "analysis/necessity/order/cover_walk.h"

namespace diogenes::necessity {
namespace {

// Which findings the broken pairs take back: all that covered the work before it was used.
class Withdrawals {
 public:
  explicit Withdrawals(const std::vector<Broken>& broken);
  // Is something of what an event covers used by it or later?
  bool orders_broken(size_t event, const Clock& covered) const;

 private:
  // Of the pairs of one stream, by use: the first tick that is used there or later.
  struct Used {
    size_t use;
    uint32_t tick;
  };
  std::unordered_map<StreamNumber, std::vector<Used>> broken_;
};

Withdrawals::Withdrawals(const std::vector<Broken>& broken) {
  for (const Broken& pair : broken) broken_[pair.stream].push_back({pair.use, pair.tick});
  for (auto& [stream, used] : broken_) {
    std::sort(used.begin(), used.end(),
              [](const Used& one, const Used& other) { return one.use < other.use; });
    for (size_t i = used.size() - 1; i > 0; --i) used[i - 1].tick = std::min(used[i - 1].tick, used[i].tick);
  }
}

bool Withdrawals::orders_broken(size_t event, const Clock& covered) const {
  return std::any_of(broken_.begin(), broken_.end(), [&](const auto& of_stream) {
    const auto& [stream, used] = of_stream;
    auto at = std::lower_bound(used.begin(), used.end(), event,
                               [](const Used& one, size_t value) { return one.use < value; });
    return at != used.end() && covered.covers(stream, at->tick);
  });
}

}  // namespace

CheckResult withdraw_unsound(const Replay& replay, std::vector<bool>& needed, size_t forgets_after) {
  CheckResult result;
  for (;;) {
    BothOrders orders(needed, forgets_after);
    replay(orders);
    orders.finish();
    result.unchecked = orders.unchecked();
    if (orders.broken().empty()) return result;
    const Withdrawals withdrawals(orders.broken());
    size_t withdrawn = 0;
    CoverWalk walk(
        orders.letting_go(), [&](size_t event, size_t instance, const Event&, const Clock& covered) {
          if (instance >= needed.size() || needed[instance] || !withdrawals.orders_broken(event, covered))
            return;
          needed[instance] = true;
          ++withdrawn;
        });
    replay(walk);
    if (withdrawn == 0) return result;
    result.withdrawn += withdrawn;
  }
}

}  // namespace diogenes::necessity
