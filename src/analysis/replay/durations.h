// How long GPU operations took. In: Schedule, recorded GPU times as far as there are any. Out: durations, and
// what they say of the machine. Where a time is not known it is filled in from what the waits tell: at the
// end of a wait that really waited, the work which it covers ended. All work between two such points is
// filled
//   first  by its first kernel,  equal  by all kernels alike,  last  by its last kernel;
// copies get their time from their size, by what the trace's own synchronous copies on an idle GPU took.
// Behind a wait that found nothing to wait for only a bound is known: the fills take none, half and all of
// it.
#pragma once
#include <optional>
#include <unordered_set>

#include "analysis/replay/simulator.h"

namespace diogenes::replay {

enum class Fill : uint8_t { first, equal, last };

struct KnownTime {
  int64_t begin = -1, end = -1;  // since the process's start, or since any other point; -1: unknown
};

struct KnownTimes {
  std::vector<KnownTime> of;              // by Node::gpu; empty: none is known
  std::unordered_set<uint32_t> outliers;  // by Node::gpu: far above what its calls usually take
  bool any = false, all = false;
  bool calibrated = false;  // the machine is known: begins and ends are another run's, and tell no latencies

  bool holds(uint32_t gpu) const { return gpu < of.size() && of[gpu].end >= 0; }
};

// Latencies by the operations for which they were what held them up; `fallback` where there are none.
Machine machine_from(const Schedule& schedule, const KnownTimes& known, const Machine& fallback);

// The same without GPU times: `assumed` latencies, no more than the shortest launch and wait allows.
Machine machine_within(const Schedule& schedule, const Machine& assumed);

std::vector<int64_t> durations_of(const Schedule& schedule, const KnownTimes& known, const Machine& machine,
                                  Fill fill);

}  // namespace diogenes::replay
