// The order with all synchronizations, and what each covers. In: a process's events; of work that may let go other work, since
// when (both_orders.h). Out: a call for each synchronization.
#pragma once
#include <functional>
#include <vector>

#include "analysis/necessity/order/both_orders.h"
#include "analysis/necessity/order/order_states.h"

namespace diogenes::necessity {

class CoverWalk : public EventSink {
 public:
  // `event`: which one it is, from 1. `instance`: which synchronization, from 0.
  using Covers = std::function<void(size_t event, size_t instance, const Event&, const Clock& covered)>;
  // `letting_go` outlives it.
  CoverWalk(const std::vector<LettingGo>& letting_go, Covers covers)
      : letting_go_(letting_go), covers_(std::move(covers)) {}
  void take(const Event& event) override;

 private:
  const std::vector<LettingGo>& letting_go_;
  const Covers covers_;
  size_t next_ = 0;  // of letting_go_
  OrderStates views_;
  size_t instance_ = 0, event_ = 0;
};

}  // namespace diogenes::necessity
