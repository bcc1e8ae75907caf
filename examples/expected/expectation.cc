#include "expectation.h"

#include <algorithm>

namespace diogenes::examples {
namespace {

// A key that may be absent or null.
std::string text(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool same_file(const std::string& reported, const std::string& expected) {
  return reported == expected || reported.ends_with("/" + expected);
}

std::string describe_finding(const nlohmann::json& finding) {
  const std::string call = finding.contains("api") ? text(finding, "api") : text(finding, "operation");
  return text(finding, "kind") + " at " + call + ", " + text(finding, "file") + ":" +
         std::to_string(finding.value("line", 0));
}

}  // namespace

Place place_of(const nlohmann::json& problem) {
  const auto where = problem.find("where");
  if (where == problem.end() || !where->is_object()) return {};
  const auto line = where->find("line");
  if (line == where->end() || !line->is_number_integer()) return {};
  return {text(*where, "file"), line->get<int>()};
}

bool matches(const nlohmann::json& finding, const nlohmann::json& problem) {
  for (const char* key : {"kind", "operation", "api"})
    if (finding.contains(key) && text(finding, key) != text(problem, key)) return false;
  const Place place = place_of(problem);
  return place.line == finding.value("line", -1) && same_file(place.file, text(finding, "file"));
}

std::string describe_problem(const nlohmann::json& problem) {
  const Place place = place_of(problem);
  const std::string api = text(problem, "api");
  return text(problem, "kind") + " at " + text(problem, "operation") + (api.empty() ? "" : " (" + api + ")") +
         ", " + (place.line == 0 ? "place unknown" : place.file + ":" + std::to_string(place.line)) + ", " +
         std::to_string(problem.value("count", 0)) + " times";
}

std::vector<std::string> missing(const nlohmann::json& findings, const nlohmann::json& report) {
  std::vector<std::string> result;
  const auto problems = report.value("problems", nlohmann::json::array());
  for (const auto& finding : findings) {
    const auto found = std::count_if(problems.begin(), problems.end(),
                                     [&](const auto& problem) { return matches(finding, problem); });
    const int at_least = finding.value("required", true) ? finding.value("at_least", 1) : 0;
    if (found < at_least)
      result.push_back("missing: " + describe_finding(finding) + " (found " + std::to_string(found) + " of " +
                       std::to_string(at_least) + ")");
  }
  return result;
}

std::vector<std::string> not_planted(const nlohmann::json& findings, const nlohmann::json& report) {
  std::vector<std::string> result;
  for (const auto& problem : report.value("problems", nlohmann::json::array())) {
    const bool planted = std::any_of(findings.begin(), findings.end(),
                                     [&](const auto& finding) { return matches(finding, problem); });
    if (!planted) result.push_back("nobody planted: " + describe_problem(problem));
  }
  return result;
}

std::vector<std::string> differences(const nlohmann::json& findings, const nlohmann::json& report) {
  std::vector<std::string> result = missing(findings, report);
  const auto more = not_planted(findings, report);
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

}  // namespace diogenes::examples
