// When a process's GPU work ran, on the clock of the run that recorded its calls. In: its operations, with how long the work of
// each took, and their schedule. Out: the work of each stream: behind the call that gave it and behind the work before it, for as long as it took, and
// no later than the wait that covered it returned. Its times may come from another run than the calls.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/replay/recorded/schedule.h"

namespace diogenes {

// Nanoseconds since the process started.
struct PlacedWork {
  int64_t given = 0, begin = 0, end = 0;
  uint32_t thread = 0, operation = 0;  // who gave it: positions in Process::threads, and in its operations
  replay::Work work = replay::Work::none;
};

struct PlacedStreams {
  std::vector<std::vector<PlacedWork>> streams;  // by number; in their order
  uint32_t legacy = replay::kNone;               // the default stream's number
};

// Work of which nobody knows how long it took is left out.
PlacedStreams place_gpu_work(const Process& process, const replay::Schedule& schedule);

}  // namespace diogenes
