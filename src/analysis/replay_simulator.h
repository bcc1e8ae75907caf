// Runs a schedule again, with changes. In: Schedule, a duration for every GPU operation, what is known of the
// machine, edits. Out: when each thread and the whole ends. CPU work, call costs and GPU durations are held
// fixed; waits follow from them. Modelled:
//   - streams in order; one engine for each direction of copies, served in the order in which operations get
//     ready; kernels of different streams either exclude each other or overlap, up to a number (Machine);
//   - events, and the legacy default stream, which orders all work before and behind it but that of
//     non-blocking streams;
//   - a launch that finds its stream's queue full waits for a place;
//   - when work can start that a call hands over (Handover), the time between operations of one stream (gap),
//     from the GPU's end to the waiting thread's return (wake_up).
// Linear in the number of nodes; with one thread, only the parts of the run that an edit reaches are run.
#pragma once
#include <algorithm>
#include <span>

#include "analysis/replay_schedule.h"

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
  // Between two operations of a stream on different engines (a kernel and a copy); -1: as `gap`.
  int64_t gap_across = -1;
  uint32_t kernels_at_once = 0;  // where they can overlap; 0: no limit
  bool overlap_seen = false;     // the times told whether they can

  int64_t gap_between(Work one, Work next) const {
    return gap_across >= 0 && across(one, next) ? gap_across : gap;
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

struct Edit {
  uint32_t thread = 0, node = 0;  // in Schedule::threads
  bool wait_removed = false, call_removed = false;
  int64_t own =
      -1;  // the call's own time; with call_removed: of another one in its place. -1: as recorded, none
  int64_t before = 0;         // taken from the CPU work before the node: calls there that are removed
  uint32_t use_node = kNone;  // moved: the wait happens in the CPU work before this node,
  int64_t use_offset = 0;     // so long after the node before it ended
  auto position() const { return std::pair(thread, node); }
};

struct Setting {
  bool recording_out = false;  // what recording took is left out of the CPU work
  bool threads_joined = true;  // spawns and joins as inferred; else every thread keeps its start
  bool moved_as_event = true;  // a moved wait waits for what it covered; else for all that is there by then
};

// Points of an unchanged run of one thread at which the GPU was idle. Kept some nodes apart: more would cost
// more than they save.
inline constexpr uint32_t kCheckpointsApart = 8;
struct Checkpoint {
  uint32_t node = 0;  // finished
  int64_t time = 0;
};

struct Outcome {
  int64_t end = 0;
  std::vector<int64_t> threads;
};

// `edits`: sorted by position. `checkpoints`: filled by an unchanged run, used by a changed one with the same
// durations, machine and setting.
Outcome simulate(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine,
                 const Setting& setting, std::span<const Edit> edits, std::vector<Checkpoint>* fill = nullptr,
                 const std::vector<Checkpoint>* use = nullptr);

// The same for any number of threads and streams, event by event; simulate() takes a shorter way where there
// is one of each (replay_one_stream.h).
Outcome simulate_events(const Schedule& schedule, const std::vector<int64_t>& durations,
                        const Machine& machine, const Setting& setting, std::span<const Edit> edits,
                        std::vector<Checkpoint>* fill = nullptr,
                        const std::vector<Checkpoint>* use = nullptr);

}  // namespace diogenes::replay
