#include "analysis/necessity/order/cover_walk.h"

namespace diogenes::necessity {

void CoverWalk::take(const Event& event) {
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
      covers_(event_, instance_++, event, covered.possible);
      break;
    }
    default:
      break;
  }
}

}  // namespace diogenes::necessity
