// The event graph, CPU side. Source: SC'19, section 3.5 and Figure 4. In: the operations of stage 2. Out: per
// thread the CPU nodes in order: CWork between calls, CLaunch for a call's own time, CWait for the time it
// waited.
//
// Figure 5 asks one thing of the graph: how much CPU time without waits lies between two waits that follow
// each other. So the nodes are kept as prefix sums at the waits: what was CPU time (CWork and CLaunch) before
// this wait, and how long it is. That answers in constant time, and the graph is 16 bytes a wait and 4 an
// operation.
//
// Departures: every thread ends in an exit node that waits 0 (docs/models.md). What recording an operation cost
// (recording_cost.h) is taken out of the CWork around it. A call's own time lies before its wait
// where the call is a transfer (it is set up, then waited for), and behind it otherwise (a free waits, then
// unmaps).
#pragma once
#include <vector>

#include "analysis/runs/run.h"

namespace diogenes {

struct WaitNode {
  Nanoseconds cpu_before;  // CWork and CLaunch since the thread's first operation
  Nanoseconds duration;    // CWait
};

struct ThreadGraph {
  std::vector<WaitNode> waits;    // in CPU order; the last is the exit node
  std::vector<uint32_t> wait_at;  // by operation: its own wait, or the next one after it
};

struct EventGraph {
  std::vector<ThreadGraph> threads;  // of all processes, one after the other
  std::vector<std::pair<uint32_t, uint32_t>>
      origin;  // by thread: position in Run::processes, in Process::threads
};

EventGraph build_graph(const Run& tracing, const SiteTable& sites);

bool is_wait(const Operation& operation);             // has a CWait node
bool launches_first(const DriverFunction* function);  // own time before the wait

}  // namespace diogenes
