// One row a problem, for spreadsheets and data frames. RFC 4180: a header row, CRLF, quotes where a field needs them;
// numbers in seconds and bytes, with a point. In: a report. Out: the whole file. Unknown is an empty field.
// Where something was proved, five columns more say what.
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

}  // namespace

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
