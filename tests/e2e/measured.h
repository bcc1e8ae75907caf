// A program run alone and under `diogenes run --driver simulated`: what a user of both would see.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_process.h"

namespace diogenes::e2e {

// A file of the build: "bin/examples/als".
std::string built(const std::string& name);

// On the simulated driver, without the tool.
bench::ProcessRun run_alone(const std::vector<std::string>& command, const std::string& input = "");

struct Measured {
  bench::ProcessRun run;   // of `diogenes run`; its report went to a file
  nlohmann::json session;  // session.json; null if there is none
  nlohmann::json report;   // `diogenes export --format json`; null if that failed
  std::string report_text;
  std::string export_errors;
};

// The default budget is for users: what a test finds must not depend on how fast the machine is.
inline constexpr const char* kNoBudget = "1000";

// All that is found, however little it gains: that is a matter of the machine, too.
inline const std::vector<std::string> kAll = {"--threshold", "0"};

// `look`, if any, gets the path of the session's folder, which is removed afterwards.
Measured run_measured(const std::vector<std::string>& command, const std::string& input = "",
                      const std::function<void(const std::string&)>& look = {},
                      const std::string& max_overhead = kNoBudget,
                      const std::vector<std::string>& options = kAll);

// A key of the report that may be null: "" then.
std::string text(const nlohmann::json& object, const char* key);

// Every way in which measuring changed what the program did: output, exit status, in the first run or a later
// one.
std::vector<std::string> changes(const bench::ProcessRun& alone, const Measured& measured);

}  // namespace diogenes::e2e
