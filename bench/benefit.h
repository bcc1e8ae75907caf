// Does an estimate come true? In: the report on a program, and paired runs of it and its corrected variant.
// Out: estimate and actual benefit, in seconds and beside each other.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace diogenes::bench {

struct Estimate {
  double seconds = 0;
  int problems = 0;   // how many of the report's problems are planted ones
  std::string taken;  // "sum of problems", or the group that has all of them
};

// What a report expects from correcting all planted problems: the smallest group that has them all as
// members, and the sum of the problems where no group does.
Estimate estimate_of(const nlohmann::json& findings, const nlohmann::json& report);

// Median; 0 of nothing.
double median(std::vector<double> values);

// Standard error of the median of `values`, from their median absolute deviation (normal errors assumed; so
// few values as there are here are allowed for).
double median_error(const std::vector<double>& values);

// Do a benefit made by hand and a proved one agree? By 5% of the former, or two standard errors of their difference. What
// correcting took may be missing in the latter.
enum class Agreement : uint8_t { agree, within_cost_of_correcting, differ };
Agreement agreement(double by_hand, double by_hand_error, double proved, double proved_error,
                    double most_hidden);

// Smaller by larger; 0 where the two have different signs.
double accuracy(double estimate, double actual);

}  // namespace diogenes::bench
