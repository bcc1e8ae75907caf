// `diogenes gate`: an exit status for continuous integration. It fails where all findings together, without those
// that are allowed, surely save more than a share of the run time: by the lower end of the range. What is not complete
// cannot pass.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/proof/proved_report.h"
#include "launcher/command_line/messages.h"
#include "launcher/commands/allow_list.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/options.h"
#include "views/shared/figures.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/proof_text.h"
#include "views/text/problem_text.h"

namespace diogenes::launcher {

int gate(const GateOptions& options) {
  std::map<std::string, std::string> allowed;
  if (!options.allow.empty()) {
    auto read = read_allow_list(options.allow);
    if (!read) return fail(kUsage, read.error().c_str());
    allowed = std::move(*read);
  }
  Result<std::filesystem::path> folder = choose_session(options.session);
  if (!folder) return fail(kOwnFailure, folder.error().c_str());
  AnalysisOptions analysis{.model = model_of(options.model), .owners = {options.own, options.library}};
  for (const auto& [key, reason] : allowed) analysis.allowed.insert(key);
  Result<Report> report = analyse_proved(*folder, analysis);
  if (!report) return fail(kOwnFailure, report.error().c_str());
  if (report->runtime_s <= 0) return fail(kCannotSay, "gate cannot say: the run time is not known");

  for (const ReportProblem& problem : report->problems) {
    const auto found = allowed.find(problem.source_key);
    fmt::print("{} {:>8}  {}, {}{}\n", problem.source_key, seconds_text(problem.expected_benefit_s),
               finding_phrase(Finding{nullptr, {&problem}}), where_text(problem.where, "", 60),
               found == allowed.end() ? "" : "  (allowed: " + found->second + ")");
    if (found != allowed.end()) allowed.erase(found);
  }
  if (report->proof)
    for (const ReportWithdrawn& withdrawn : report->proof->withdrawn)
      say("withdrawn: " + withdrawn_text(withdrawn, ""));
  for (const auto& [key, reason] : allowed)
    say(fmt::format("{}: {} is not found any more ({})", options.allow, key, reason));
  // A tracing run that was held up may tell of more than the first run took; no more than that can be saved.
  const double low =
      report->together ? std::min(100 * report->together->range.low_s / report->whole_s(), 100.0) : 0;
  const bool above = low > options.fail_above_percent;
  // What is missing counts as needed: there may be more to save, not less.
  if (!above && !report->incomplete.empty())
    return fail(kCannotSay, fmt::format("gate cannot say: {}", report->incomplete.front()));
  fmt::print("{}: {} of {} can surely be saved, {} {}\n", above ? "FAIL" : "pass",
             percent_text(std::max(low, 0.0)),
             report->part ? "the part that the program marks" : "the run time",
             above ? "more than" : "not more than", percent_text(options.fail_above_percent));
  return above ? kProblems : kSuccess;
}

}  // namespace diogenes::launcher
