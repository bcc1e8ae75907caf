// Calls whose GPU times were not recorded (kUntimed) count as calls of the same path that were. What a path's work takes changes
// while a program runs, most at its start, and the recorded calls come in stretches. So each takes the time of one from the
// stretch before it or behind it, whichever is nearer in number of calls; these take turns, the nearest first.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/runs/run.h"

namespace diogenes {

// Does the call give the GPU work?
bool works_on_gpu(const Operation& operation, const SiteTable& sites);

struct RecordedCall {
  uint32_t thread = 0, operation = 0;  // positions in Process::threads and Thread::operations
};

struct StandIn {
  RecordedCall left_out, recorded;
};

// For each call of the process that was left out and whose path was recorded at all. Sorted by path and time.
std::vector<StandIn> find_stand_ins(const Process& process, const SiteTable& sites);

}  // namespace diogenes
