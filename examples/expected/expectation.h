// What a report must say about an example, and whether it does. Source: examples/expected.json.
// In: that file with its markers resolved to lines (resolve_markers, at build time) and a report
// (docs/report-schema.json). Out: the differences, a sentence each; and which of the report's problems are the planted ones.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace diogenes::examples {

struct Place {
  std::string file;
  int line = 0;
};

// Where a finding points. Line 0: its source is not known.
Place place_of(const nlohmann::json& problem);

// Is `problem` (of a report) the planted `finding` (of a program in expected.json)?
bool matches(const nlohmann::json& finding, const nlohmann::json& problem);

// Every planted finding that is missing.
std::vector<std::string> missing(const nlohmann::json& findings, const nlohmann::json& report);
// Every problem that nobody planted.
std::vector<std::string> not_planted(const nlohmann::json& findings, const nlohmann::json& report);
// Both. Empty: as it should be.
std::vector<std::string> differences(const nlohmann::json& findings, const nlohmann::json& report);

// "unnecessary-synchronization at cuMemFree, als/als.cpp:53"
std::string describe_problem(const nlohmann::json& problem);

}  // namespace diogenes::examples
