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
        views_.may_let_go(pair.gate, pair.by, pair.by_past);
      }
      break;
    case EventKind::call_end:
      views_.end_call(event.thread);
      break;
    case EventKind::covers: {
      const Knowledge covered = views_.covered(event);
      const bool unclear = views_.unclear() || event.unclear;
      views_.returns(event.thread, covered, event.wait.own_work);
      if (unclear) views_.learns_unseen(event.thread);
      covers_(event_, instance_++, event, covered.possible);
      break;
    }
    default:
      break;
  }
}

}  // namespace diogenes::necessity
