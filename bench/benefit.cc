#include "benefit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "expectation.h"

namespace diogenes::bench {

Estimate estimate_of(const nlohmann::json& findings, const nlohmann::json& report) {
  Estimate result;
  std::set<std::string> planted;
  for (const auto& problem : report.value("problems", nlohmann::json::array())) {
    const bool is_planted = std::any_of(findings.begin(), findings.end(), [&](const auto& finding) {
      return examples::matches(finding, problem);
    });
    if (!is_planted) continue;
    planted.insert(problem.value("id", ""));
    result.seconds += problem.value("expected_benefit_s", 0.0);
  }
  result.problems = static_cast<int>(planted.size());
  result.taken = "sum of problems";

  std::optional<size_t> smallest;
  for (const auto& group : report.value("groups", nlohmann::json::array())) {
    const auto list = group.value("members", std::vector<std::string>());
    const std::set<std::string> members(list.begin(), list.end());
    if (planted.empty() || (smallest && members.size() >= *smallest)) continue;
    if (!std::includes(members.begin(), members.end(), planted.begin(), planted.end())) continue;
    smallest = members.size();
    result.seconds = group.value("expected_benefit_s", 0.0);
    result.taken = group.value("grouping", "") + " " + group.value("id", "");
  }
  return result;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// By how much the median absolute deviation of so few values is too small (Croux and Rousseeuw, 1992).
static double small_sample_factor(size_t count) {
  constexpr std::array<double, 10> kFactors = {1, 1, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
  const auto n = static_cast<double>(count);
  return count < kFactors.size() ? kFactors[count] : n / (n - 0.8);
}

double median_error(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  const double sigma = small_sample_factor(values.size()) * 1.4826 * median(deviations);
  return 1.2533 * sigma / std::sqrt(static_cast<double>(values.size()));
}

Agreement agreement(double by_hand, double by_hand_error, double proved, double proved_error,
                    double most_hidden) {
  const double allowed = std::max(0.05 * std::abs(by_hand), 2 * std::hypot(by_hand_error, proved_error));
  const double missing = by_hand - proved;
  if (std::abs(missing) <= allowed) return Agreement::agree;
  return missing > 0 && missing - std::max(most_hidden, 0.0) <= allowed ? Agreement::within_cost_of_correcting
                                                                        : Agreement::differ;
}

double accuracy(double estimate, double actual) {
  if (estimate * actual <= 0) return estimate == actual ? 1 : 0;
  return std::min(estimate / actual, actual / estimate);
}

}  // namespace diogenes::bench
