#include "launcher/prove/differences.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace diogenes::launcher {

PairedGain paired_gain(std::vector<double> differences) {
  if (differences.empty()) return {};
  std::sort(differences.begin(), differences.end());
  const size_t count = differences.size();
  PairedGain gain{(differences[(count - 1) / 2] + differences[count / 2]) / 2, 0};
  if (count < 2) return gain;
  const double mean =
      std::accumulate(differences.begin(), differences.end(), 0.0) / static_cast<double>(count);
  double squares = 0;
  for (const double difference : differences) squares += (difference - mean) * (difference - mean);
  gain.error_s = 2 * std::sqrt(squares / static_cast<double>(count - 1) / static_cast<double>(count));
  return gain;
}

}  // namespace diogenes::launcher
