// Samples by why the warp did not go on. Parts of samples are possible.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace diogenes {

struct SampleCounts {
  std::vector<double> by_reason;  // up to the last reason that has any
  double latency = 0;             // of all: no warp of the scheduler issued

  double all() const {
    double sum = 0;
    for (const double one : by_reason) sum += one;
    return sum;
  }
  double of(uint32_t reason) const { return reason < by_reason.size() ? by_reason[reason] : 0; }
  void add(uint32_t reason, double samples, double latency_samples) {
    if (by_reason.size() <= reason) by_reason.resize(reason + 1, 0);
    by_reason[reason] += samples;
    latency += latency_samples;
  }
  void add(const SampleCounts& other, double factor = 1) {
    by_reason.resize(std::max(by_reason.size(), other.by_reason.size()), 0);
    for (size_t i = 0; i < other.by_reason.size(); ++i) by_reason[i] += factor * other.by_reason[i];
    latency += factor * other.latency;
  }
};

}  // namespace diogenes
