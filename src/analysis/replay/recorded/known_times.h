// When GPU operations of a schedule ran, as far as it was recorded. Nanoseconds.
#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace diogenes::replay {

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

}  // namespace diogenes::replay
