// Expected benefit of fixing a set of instances. Source: SC'19, section 3.5.1, Figure 5. In: EventGraph and
// the changes that the fix makes. Out: Nanoseconds. This is the model `paper` (docs/models.md): Figure 5 with
//   - a fresh graph for every problem or group: the graph is never changed here, so no figure depends on
//   another;
//   - unrealised savings carried to the next synchronization once (line 19 does it already), and realised
//   there only if
//     that one is changed too;
//   - the benefit of a misplaced synchronization capped by its wait;
//   - an exit node that waits 0 (graph.h);
//   - of a wait for one stream in place of many, of which the graph knows nothing, nothing;
//   - a call's own time gained only where the fix removes the call. Own times of removed calls are taken out
//   of the CPU
//     time between waits before any wait is removed: what is gone cannot overlap with the GPU.
// Linear in the number of changes.
#pragma once
#include <compare>
#include <vector>

#include "analysis/benefit/graph.h"

namespace diogenes {

// What a fix does to one operation.
struct Change {
  uint32_t thread = 0;     // of EventGraph::threads
  uint32_t operation = 0;  // position in the thread
  uint32_t wait = 0;       // ThreadGraph::wait_at
  enum class Wait : uint8_t { kept, removed, moved, narrowed, on_gpu } wait_change = Wait::kept;
  bool call_removed = false;
  bool work_kept = false;     // call_removed: the call gets shorter, and gives the GPU what it gave
  bool launch_first = false;  // own time before the wait
  bool waits = false;         // the operation has a wait, changed or not
  Nanoseconds own;            // call_removed: what is gained of the call's own time
  Nanoseconds before;         // call_removed: CPU time right before the call that goes with it
  Nanoseconds behind;         // CPU time right behind the call that goes with it
  Nanoseconds remains;        // call_removed: what the call in its place takes
  Nanoseconds after;          // moved: from its exit to the first use
  uint32_t like =
      UINT32_MAX;  // narrowed, of a copy: position in the thread of a call to whose stream it goes
};

inline bool in_cpu_order(const Change& a, const Change& b) {
  return a.thread != b.thread ? a.thread < b.thread : a.operation < b.operation;
}

// `changes`: in CPU order, one for each operation at most. `realised`, where given, gets what is gained at
// each change.
Nanoseconds expected_benefit(const EventGraph& graph, const std::vector<Change>& changes,
                             std::vector<Nanoseconds>* realised = nullptr);

// The changes of several problems, in CPU order.
std::vector<Change> merged(const std::vector<const std::vector<Change>*>& parts);

// All that is in either, in CPU order; of changes to one operation that in `changes`.
std::vector<Change> replaced(const std::vector<Change>& before, const std::vector<Change>& changes);

}  // namespace diogenes
