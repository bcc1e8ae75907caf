// What is known of a machine that a schedule ran on, and when work can start that a call hands over to it.
#pragma once
#include "analysis/replay/recorded/schedule.h"

namespace diogenes::replay {

inline bool is_copy(Work work) { return work == Work::to_device || work == Work::to_host; }

// Do two operations run on different engines?
inline bool across(Work one, Work next) {
  auto engine = [](Work work) { return work == Work::to_device ? 1 : work == Work::to_host ? 2 : 0; };
  return engine(one) != engine(next);
}

struct Machine {
  // From a launch's return to the start on an idle GPU. Below 0: the work can start before the call returns.
  int64_t launch_latency = 0;
  int64_t wake_up = 0, gap = 0;
  uint32_t queue_depth = 1024;
  bool kernels_overlap = false;
  bool legacy_orders = true;       // user streams are blocking ones
  bool assumed = false;            // the latencies: they may be others
  int64_t launch_from_begin = -1;  // from a launch's begin to the start; -1: launch_latency tells
  // The same two of copies that are only handed over, where both kinds were seen to start on an idle GPU.
  bool copies_apart = false;
  int64_t copy_latency = 0, copy_from_begin = -1;
  // Between two operations of a stream on different engines, the second a copy, and else; -1: as `gap`.
  int64_t gap_to_copy = -1, gap_across = -1;
  uint32_t kernels_at_once = 0;  // where they can overlap; 0: no limit
  bool overlap_seen = false;     // the times told whether they can

  int64_t gap_between(Work one, Work next) const {
    if (!across(one, next)) return gap;
    const int64_t known = is_copy(next) ? gap_to_copy : gap_across;
    return known >= 0 ? known : gap;
  }
};

// A call hands its work over when `before` of its own time has passed; the work can start `latency` later.
struct Handover {
  int64_t before, latency;
};
inline Handover handover(const Machine& machine, const Node& node) {
  // What a call waits for itself is handed over when its own time has passed.
  bool at_once = node.waits == Waits::no && node.work != Work::none;
  bool copy = at_once && machine.copies_apart && is_copy(node.work);
  int64_t latency = copy ? machine.copy_latency : machine.launch_latency;
  int64_t from_begin = copy ? machine.copy_from_begin : machine.launch_from_begin;
  if (at_once && from_begin >= 0) {
    int64_t before = std::min(node.own, from_begin);
    return {before, from_begin - before};
  }
  int64_t early = at_once ? std::max<int64_t>(-latency, 0) : 0;
  return {std::max<int64_t>(node.own - early, 0), std::max<int64_t>(latency, 0)};
}
// The same latency for work that takes `duration`. A copy whose own call waits, and found nothing to wait
// for, was made by the call itself: no GPU starts it late.
inline int64_t start_latency(const Machine& machine, const Schedule& schedule, const Node& node,
                             int64_t duration) {
  bool by_call = node.waits == Waits::own && node.waited <= schedule.idle_wait && duration == 0;
  return by_call ? 0 : handover(machine, node).latency;
}
// When a recorded call handed its work over.
inline int64_t handed_over(const Machine& machine, const Node& node) {
  return node.submitted() - (node.unseen() ? 0 : node.own - handover(machine, node).before);
}

}  // namespace diogenes::replay
