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
#include <span>

#include "analysis/replay/recorded/machine.h"

namespace diogenes::replay {

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
  bool threads_joined = true;  // threads go on when others release them; else when they did
  bool moved_as_event = true;  // a moved wait waits for what it covered; else for all that is there by then
  bool locks_in_order = true;  // free locks are taken in the recorded order; else in any
  bool sleeps_cost = true;     // by their length (SleepCosts); else as when they were recorded
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

}  // namespace diogenes::replay
