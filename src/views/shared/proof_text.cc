#include "views/shared/proof_text.h"

#include <fmt/format.h>

#include <set>

#include "views/shared/figures.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"

namespace diogenes {
namespace {

constexpr size_t kPlace = 60;  // characters

std::string percent_and_error(const ReportProved& proved) {
  if (!proved.error_is_known) return fmt::format("{:.1f}% +- ?", proved.percent);
  return fmt::format("{:.1f}% +- {:.1f}", proved.percent, proved.error_percent);
}

std::string seconds_and_percent(double seconds, double percent) {
  return fmt::format("{} ({})", seconds_text(seconds), percent_text(percent));
}

std::string gained(const ReportProved& proved) {
  return fmt::format("{} +- {} ({})", seconds_text(proved.seconds),
                     proved.error_is_known ? seconds_text(proved.error_s) : "?", percent_and_error(proved));
}

std::string expected(const ReportProved& proved) {
  return (proved.up_to ? "up to " : "") + seconds_and_percent(proved.expected_s, proved.expected_percent);
}

// What is said behind the figures.
std::string conditions(const ReportProved& proved) {
  return fmt::format("; {} of {}; results {}", count_text(proved.applied), counted(proved.calls, "call"),
                     proved.difference.empty() ? "equal" : "DIFFERENT");
}

std::string with_figures(const ReportProved& proved, const std::string& expected, const std::string& gained) {
  if (proved.calls == 0) return "none of its calls was made in the runs of diogenes prove";
  if (proved.applied == 0) return fmt::format("none of {} could be corrected", counted(proved.calls, "call"));
  if (proved.too_dear)
    return fmt::format("expected {}, not proved: correcting its calls took {}{}", expected,
                       percent_text(proved.correcting_percent), conditions(proved));
  return fmt::format("expected {}, proved {}{}", expected, gained, conditions(proved));
}

// Its results, or its gain, are not what they should be.
void warn(const std::string& name, const std::optional<ReportProved>& proved, std::vector<std::string>& out) {
  if (!proved) return;
  if (!proved->difference.empty())
    out.push_back(fmt::format("{}: correcting it changed the results ({}).", name, proved->difference));
  else if (!proved->as_expected && !proved->too_dear)
    out.push_back(
        fmt::format("{}: {} was expected, but {} was proved.", name, expected(*proved), gained(*proved)));
}

}  // namespace

std::string proof_text(const ReportProved& proved) {
  return with_figures(proved, (proved.up_to ? "up to " : "") + percent_text(proved.expected_percent),
                      percent_and_error(proved));
}

std::string proof_details(const ReportProved& proved) {
  return with_figures(proved, expected(proved), gained(proved));
}

std::string proof_of_all(const Report& report) {
  if (!report.proof || !report.proof->together) return "";
  const ReportProof& proof = *report.proof;
  return fmt::format("{} ({} corrected together, in {} of runs; correcting itself took {})",
                     proof_details(*proof.together), counted(proof.findings, "finding"),
                     counted(proof.pairs, "pair"), percent_text(proof.together->correcting_percent));
}

std::string withdrawn_text(const ReportWithdrawn& withdrawn, const std::string& folder) {
  const ReportProblem& finding = withdrawn.finding;
  const std::string where = where_text(finding.where, folder, kPlace);
  return fmt::format("{}, {}{}: {}", finding.id, finding_phrase({nullptr, {&finding}}),
                     where.empty() ? "" : ", " + where, withdrawn.reason);
}

std::vector<std::string> proof_warnings(const Report& report, const std::string& folder) {
  std::vector<std::string> sentences;
  if (!report.proof) return sentences;
  for (const ReportWithdrawn& withdrawn : report.proof->withdrawn)
    sentences.push_back("Withdrawn: " + withdrawn_text(withdrawn, folder) + ".");
  warn("All together", report.proof->together, sentences);
  for (const ReportProblem& problem : report.problems) warn(problem.id, problem.proved, sentences);
  for (const ReportRequired& required : report.required) warn(required.id, required.proved, sentences);
  std::set<std::vector<std::string>> said;  // groups with the same members are one to whoever proves them
  for (const ReportGroup& group : report.groups)
    if (said.insert(group.members).second) warn(group.id, group.proved, sentences);
  return sentences;
}

}  // namespace diogenes
