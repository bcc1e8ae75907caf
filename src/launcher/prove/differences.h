// Figures of paired differences: what one run took less than the other, in each pair.
#pragma once
#include <vector>

namespace diogenes::launcher {

struct PairedGain {
  double median_s = 0;
  double error_s = 0;  // two standard errors; 0 with fewer than two pairs
};

PairedGain paired_gain(std::vector<double> differences_s);

}  // namespace diogenes::launcher
