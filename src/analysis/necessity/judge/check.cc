#include "analysis/necessity/judge/check.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/necessity/order/both_orders.h"
#include "analysis/necessity/order/order_states.h"

namespace diogenes::necessity {
namespace {

// Which findings the broken pairs take back: all that covered the work before it was used.
class Withdrawals : public EventSink {
 public:
  Withdrawals(const std::vector<Broken>& broken, const std::vector<LettingGo>& letting_go,
              std::vector<bool>& needed);
  void take(const Event& event) override;
  size_t withdrawn() const { return withdrawn_; }

 private:
  // Of the pairs of one stream, by use: the first tick that is used there or later.
  struct Used {
    size_t use;
    uint32_t tick;
  };
  bool orders_broken(const Clock& covered) const;

  std::unordered_map<StreamNumber, std::vector<Used>> broken_;
  const std::vector<LettingGo>& letting_go_;
  size_t next_ = 0;  // of them
  std::vector<bool>& needed_;
  OrderStates views_;
  size_t instance_ = 0, event_ = 0, withdrawn_ = 0;
};

Withdrawals::Withdrawals(const std::vector<Broken>& broken, const std::vector<LettingGo>& letting_go,
                         std::vector<bool>& needed)
    : letting_go_(letting_go), needed_(needed) {
  for (const Broken& pair : broken) broken_[pair.stream].push_back({pair.use, pair.tick});
  for (auto& [stream, used] : broken_) {
    std::sort(used.begin(), used.end(),
              [](const Used& one, const Used& other) { return one.use < other.use; });
    for (size_t i = used.size() - 1; i > 0; --i) used[i - 1].tick = std::min(used[i - 1].tick, used[i].tick);
  }
}

// Is something of what it covers used now or later?
bool Withdrawals::orders_broken(const Clock& covered) const {
  return std::any_of(broken_.begin(), broken_.end(), [&](const auto& of_stream) {
    const auto& [stream, used] = of_stream;
    auto at = std::lower_bound(used.begin(), used.end(), event_,
                               [](const Used& one, size_t event) { return one.use < event; });
    return at != used.end() && covered.covers(stream, at->tick);
  });
}

void Withdrawals::take(const Event& event) {
  if (!well_formed(event)) return;
  ++event_;
  views_.next_event();
  views_.follow(event);
  switch (event.kind) {
    case EventKind::work:
      views_.give_work(event);
      for (; next_ < letting_go_.size() && letting_go_[next_].since == event_; ++next_) {
        const LettingGo& pair = letting_go_[next_];
        views_.may_let_go(pair.gate, pair.gate_tick, pair.by, pair.by_tick);
      }
      break;
    case EventKind::call_end:
      views_.end_call(event.thread);
      break;
    case EventKind::covers: {
      const Knowledge covered = views_.covered(event);
      views_.returns(event.thread, covered, event.wait.own_work);
      const size_t instance = instance_++;
      if (instance >= needed_.size() || needed_[instance]) break;
      if (!orders_broken(covered.possible)) break;
      needed_[instance] = true;
      ++withdrawn_;
      break;
    }
    default:
      break;
  }
}

}  // namespace

CheckResult withdraw_unsound(const Replay& replay, std::vector<bool>& needed, size_t forgets_after,
                             const std::vector<StreamNumber>* narrow) {
  CheckResult result;
  for (;;) {
    BothOrders orders(needed, forgets_after, narrow);
    replay(orders);
    orders.finish();
    result.unchecked = orders.unchecked();
    if (orders.broken().empty()) return result;
    Withdrawals withdrawals(orders.broken(), orders.letting_go(), needed);
    replay(withdrawals);
    if (withdrawals.withdrawn() == 0) return result;
    result.withdrawn += withdrawals.withdrawn();
  }
}

}  // namespace diogenes::necessity
