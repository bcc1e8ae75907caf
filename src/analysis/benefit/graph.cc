#include "analysis/benefit/graph.h"

#include <algorithm>

#include "analysis/runs/recording_cost.h"

namespace diogenes {
namespace {

// Where the thread's timeline ends: at the process's end for its first thread, at its last call for the
// others, of which it is not known how long they ran on.
Nanoseconds exit_of(const Process& process, const Thread& thread, Nanoseconds last_call) {
  return thread.main ? std::max(last_call, Nanoseconds{process.trace->process.ended_ns}) : last_call;
}

ThreadGraph build_thread(const Process& process, const Thread& thread, const SiteTable& sites) {
  RecordingCost recording(process, thread);
  Nanoseconds recorded{};  // behind the last call
  ThreadGraph graph;
  graph.wait_at.reserve(thread.operations.size());
  Nanoseconds cpu{}, now{};
  bool first = true;
  for (uint32_t i = 0; i < thread.operations.size(); ++i) {
    const Operation& operation = thread.operations[i];
    const auto cost = recording.of(i);
    if (!first) {
      Nanoseconds gap = operation.begin - now - recorded - cost.before;  // CWork
      cpu += std::max(gap, Nanoseconds{});
    }
    first = false;
    recorded = cost.behind;
    now = std::max(now, operation.end());
    graph.wait_at.push_back(static_cast<uint32_t>(graph.waits.size()));
    if (!is_wait(operation)) {
      cpu += operation.call;  // CLaunch; a full launch queue's wait stays in it
      continue;
    }
    bool launch_first = launches_first(function_of(sites[operation.site]));
    if (launch_first) cpu += operation.own();
    graph.waits.push_back({cpu, operation.waited});
    if (!launch_first) cpu += operation.own();
  }
  if (!first) cpu += std::max(exit_of(process, thread, now) - now - recorded, Nanoseconds{});
  graph.waits.push_back({cpu, {}});
  return graph;
}

}  // namespace

bool is_wait(const Operation& operation) { return operation.has(kWaited); }

bool launches_first(const DriverFunction* function) { return function && function->role == Role::transfer; }

EventGraph build_graph(const Run& tracing, const SiteTable& sites) {
  EventGraph graph;
  for (uint32_t p = 0; p < tracing.processes.size(); ++p)
    for (uint32_t t = 0; t < tracing.processes[p].threads.size(); ++t) {
      graph.threads.push_back(build_thread(tracing.processes[p], tracing.processes[p].threads[t], sites));
      graph.origin.emplace_back(p, t);
    }
  return graph;
}

}  // namespace diogenes
