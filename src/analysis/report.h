// The product of stage 5: what the views show. Immutable once made. Its JSON form is DESIGN.md section 3,
// schema diogenes-report/1 (docs/report-schema.json). Seconds as doubles here, because the report is for
// people and files.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace diogenes {

struct ReportFrame {
  std::string function, file;
  int line = 0;
  std::string module;
  uint64_t offset = 0;
  bool inlined = false;
  std::string language;  // "python", "c++"; "": not known
};

struct ReportUse {
  double after_s = 0;  // median
  std::vector<ReportFrame> stack;
};

// What surrounds an expected benefit: where it lies, and what each model says.
struct ReportRange {
  double low_s = 0, high_s = 0;
  std::string reason;  // why it is wide; "": it is not
  double paper_s = 0, replay_s = 0;
};

// All problems fixed at once.
struct ReportTogether {
  double expected_benefit_s = 0, expected_benefit_percent = 0;
  ReportRange range;
};

struct ReportProblem {
  std::string id;    // "P1": by expected benefit
  std::string key;   // the same in every session of the same binary
  std::string kind;  // as kind_name() has it: "unnecessary-synchronization", "duplicate-transfer", ...
  std::string operation;
  std::string api;         // "" : null
  uint64_t count = 0;      // problematic instances
  uint64_t instances = 0;  // all instances of the site
  double waited_s = 0, call_s = 0;
  uint64_t bytes = 0;
  double expected_benefit_s = 0, expected_benefit_percent = 0;
  std::optional<ReportRange> range;
  std::optional<ReportUse> first_use;
  std::vector<ReportFrame> duplicate_of;  // empty: null
  std::vector<ReportFrame> lost_at;       // what overwrote or released unused data; empty: null
  std::vector<std::string> conditions;
  std::string fix;                 // what the figure assumes was changed
  std::vector<ReportFrame> stack;  // innermost first
};

struct ReportGroup {
  std::string id, grouping, title;
  double expected_benefit_s = 0, expected_benefit_percent = 0;
  uint64_t synchronization_issues = 0, transfer_issues = 0;
  std::vector<std::string> members;
  std::optional<ReportRange> range;
};

struct ReportStage {
  std::string name;
  double runtime_s = 0, overhead = 0;  // overhead: runtime / baseline (/ plain)
};

struct ReportWaitFunction {
  uint64_t offset = 0;
  int agreed = 0, known = 0;
};

// One driver function's totals: the profiler's view, beside the expected benefit.
struct ReportFunction {
  std::string operation;
  uint64_t count = 0;
  double call_s = 0, waited_s = 0, expected_benefit_s = 0;
};

struct Report {
  std::string model = "paper";
  std::vector<std::string> command;
  int exit_status = 0;
  double runtime_s = 0;  // the baseline's, exec to exit
  std::string driver_path, driver_build_id, driver_version;
  bool simulated = false;
  std::vector<ReportWaitFunction> wait_functions;
  std::string device_name, compute_capability;
  std::vector<ReportStage> stages;
  uint64_t synchronizations = 0, transfers = 0, transferred_bytes = 0;
  double waited_s = 0;
  std::vector<ReportFunction> functions;
  std::vector<ReportProblem> problems;
  std::vector<ReportGroup> groups;
  std::optional<ReportTogether> together;  // none: no problems
  std::vector<std::string> notices;
};

}  // namespace diogenes
