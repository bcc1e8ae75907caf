// One row a problem, for spreadsheets and data frames. RFC 4180: a header row, CRLF, quotes where a field needs them;
// numbers in seconds and bytes, with a point. In: a report. Out: the whole file. Unknown is an empty field.
// Where something was proved, five columns more say what. Kernels are another table: they have no column in common.
#include <fmt/format.h>

#include <cmath>

#include "views/exports/exports.h"
#include "views/shared/phrases.h"

namespace diogenes {
namespace {

class Row {
 public:
  Row& add(const std::string& field) {
    if (!first_) text_ += ',';
    first_ = false;
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      text_ += field;
      return *this;
    }
    text_ += '"';
    for (char c : field) {
      if (c == '"') text_ += '"';
      text_ += c;
    }
    text_ += '"';
    return *this;
  }
  Row& add(double value) { return add(std::isfinite(value) ? fmt::format("{}", value) : std::string()); }
  Row& add(uint64_t value) { return add(std::to_string(value)); }
  Row& known(int value) { return add(value > 0 ? std::to_string(value) : std::string()); }
  std::string end() const { return text_ + "\r\n"; }

 private:
  std::string text_;
  bool first_ = true;
};

std::string joined_codes(const ReportProblem& problem) {
  std::string codes;
  for (const ReportCondition& condition : problem.conditions)
    codes += (codes.empty() ? "" : " ") + condition.code;
  return codes;
}

std::string checks(const ReportProblem& problem) {
  std::string texts;
  for (const ReportCondition& condition : problem.conditions)
    if (can_break(condition)) texts += (texts.empty() ? "" : "; ") + condition.text;
  return texts;
}

// Columns that are there where something was proved.
void add_proved(Row& row, const ReportProblem& problem) {
  if (!problem.proved) {
    for (int i = 0; i < 5; ++i) row.add(std::string());
    return;
  }
  const ReportProved& proved = *problem.proved;
  row.add(proved.seconds).add(proved.error_s).add(proved.calls).add(proved.applied);
  row.add(std::string(proved.difference.empty() ? "yes" : "no"));
}

std::string header(const Report& report) {
  Row row;
  for (const char* name : {"id",          "kind",         "call",  "operation",  "saves_s",  "saves_percent",
                           "saves_low_s", "saves_high_s", "count", "instances",  "waited_s", "call_s",
                           "bytes",       "function",     "file",  "line",       "column",   "why",
                           "fix",         "conditions",   "check", "source_key", "key"})
    row.add(std::string(name));
  if (report.proof)
    for (const char* name :
         {"proved_s", "proved_error_s", "proved_calls", "proved_applied", "proved_results_equal"})
      row.add(std::string(name));
  return row.end();
}

constexpr const char* kWorkColumns[] = {"id",
                                        "name",
                                        "count",
                                        "gpu_s",
                                        "percent",
                                        "shortest_s",
                                        "median_s",
                                        "longest_s",
                                        "bytes",
                                        "gains_half_s",
                                        "gains_half_low_s",
                                        "gains_half_high_s",
                                        "gains_most_s",
                                        "fixed_half_s",
                                        "fixed_most_s",
                                        "grid",
                                        "block",
                                        "registers",
                                        "static_shared_bytes",
                                        "dynamic_shared_bytes",
                                        "occupancy_percent",
                                        "limiter",
                                        "function",
                                        "file",
                                        "line",
                                        "full_name"};

std::string extent(const uint32_t (&of)[3]) { return fmt::format("{}x{}x{}", of[0], of[1], of[2]); }

// Of the shape and the path with most time; a row of the table of kernels.
std::string work_row(const ReportGpuWork& work) {
  Row row;
  row.add(work.id).add(work.name).add(work.count).add(work.gpu_s).add(work.percent);
  row.add(work.shortest_s).add(work.median_s).add(work.longest_s).add(work.bytes);
  const double unknown = NAN;  // an empty field
  const ReportWhatIf* what_if = work.what_if ? &*work.what_if : nullptr;
  row.add(what_if ? what_if->half.seconds : unknown).add(what_if ? what_if->half.low_s : unknown);
  row.add(what_if ? what_if->half.high_s : unknown).add(what_if ? what_if->none.seconds : unknown);
  row.add(what_if && what_if->half_fixed ? what_if->half_fixed->seconds : unknown);
  row.add(what_if && what_if->none_fixed ? what_if->none_fixed->seconds : unknown);
  if (work.shapes.empty()) {
    for (int i = 0; i < 7; ++i) row.add(std::string());
  } else {
    const ReportLaunchShape& shape = work.shapes.front();
    row.add(extent(shape.grid)).add(extent(shape.block)).add(uint64_t{shape.registers});
    row.add(uint64_t{shape.static_shared_bytes}).add(uint64_t{shape.dynamic_shared_bytes});
    row.add(shape.occupancy ? shape.occupancy->percent : unknown);
    row.add(shape.occupancy ? shape.occupancy->limiter : std::string());
  }
  const bool known = !work.paths.empty() && work.paths.front().where;
  const ReportFrame where = known ? *work.paths.front().where : ReportFrame();
  row.add(where.function).add(where.file).known(where.line).add(work.full_name);
  return row.end();
}

}  // namespace

std::string to_kernels_csv(const Report& report) {
  Row header;
  for (const char* name : kWorkColumns) header.add(std::string(name));
  std::string text = header.end();
  if (report.profile)
    for (const ReportGpuWork& work : report.profile->work) text += work_row(work);
  return text;
}

std::string to_csv(const Report& report) {
  std::string text = header(report);
  for (const ReportProblem& problem : report.problems) {
    const ReportFrame nowhere;
    const ReportFrame& where = problem.where ? *problem.where : nowhere;
    Row row;
    row.add(problem.id).add(problem.kind);
    row.add(!problem.via.empty() ? problem.via : problem.api).add(problem.operation);
    row.add(problem.expected_benefit_s).add(problem.expected_benefit_percent);
    if (problem.range)
      row.add(problem.range->low_s).add(problem.range->high_s);
    else
      row.add(std::string()).add(std::string());
    row.add(problem.count)
        .add(problem.instances)
        .add(problem.waited_s)
        .add(problem.call_s)
        .add(problem.bytes);
    row.add(where.function).add(where.file).known(where.line).known(where.column);
    row.add(problem.why).add(problem.fix).add(joined_codes(problem)).add(checks(problem));
    row.add(problem.source_key).add(problem.key);
    if (report.proof) add_proved(row, problem);
    text += row.end();
  }
  return text;
}

}  // namespace diogenes
