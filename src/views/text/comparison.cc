#include "views/text/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "views/shared/figures.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/proof_text.h"
#include "views/text/page.h"

namespace diogenes {
namespace {

using State = ComparedProblem::State;

State state_of(const ReportProblem& before, const ReportProblem& now, double runtime_s) {
  const double change = now.expected_benefit_s - before.expected_benefit_s;
  const double least = std::max(0.1 * std::abs(before.expected_benefit_s), 0.001 * runtime_s);
  if (std::abs(change) < least) return State::same;
  return change < 0 ? State::better : State::worse;
}

constexpr size_t kProved = 19;  // "87.0 ms +- 4.00 ms", beside what was expected

const char* state_word(State state) {
  constexpr const char* kWords[] = {"gone", "new", "worse", "better", "same"};
  return kWords[static_cast<size_t>(state)];
}

std::string proved_text(const ReportProved& proved) {
  return fmt::format("{} +- {}{}", seconds_text(proved.seconds), seconds_text(proved.error_s),
                     proved.difference.empty() ? "" : ", results DIFFERENT");
}

// Of one problem its own; of all problems what was proved of all of them together.
const ReportProved* proved_of_gone(const Report& before, const Comparison& comparison) {
  std::vector<const ReportProblem*> gone;
  for (const ComparedProblem& problem : comparison.problems)
    if (problem.state == State::gone) gone.push_back(problem.before);
  if (gone.size() == 1) return gone[0]->proved ? &*gone[0]->proved : nullptr;
  const bool all = comparison.gone_together && before.proof && before.proof->together &&
                   before.proof->findings == gone.size() && !before.proof->together->up_to;
  return all ? &*before.proof->together : nullptr;
}

std::string phrase_of(const ReportProblem& problem) { return finding_phrase(Finding{nullptr, {&problem}}); }

void summary(Page& page, const Report& before, const Report& now, const Comparison& comparison,
             const std::string& folder) {
  const double percent = before.runtime_s > 0 ? 100 * std::abs(comparison.faster_s) / before.runtime_s : 0;
  page.wrapped("", 0,
               fmt::format("{}: run time {} before, {} now: {} ({}) {}, in one run each",
                           program_name(now.command), seconds_text(before.runtime_s),
                           seconds_text(now.runtime_s), seconds_text(std::abs(comparison.faster_s)),
                           percent_text(percent), comparison.faster_s >= 0 ? "faster" : "slower"));
  if (before.command != now.command)
    page.wrapped("", 0, "The commands differ, so the sessions may not be comparable.");
  for (const auto& [name, report] : {std::pair("before", &before), std::pair("now", &now)})
    if (!report->incomplete.empty())
      page.wrapped("", 0, fmt::format("Not complete ({}): {}.", name, report->incomplete.front()));
  for (const auto& [name, report] : {std::pair("Before", &before), std::pair("Now", &now)})
    for (const ReportNotice& notice : report->notices)
      if (notice.code == "model-mismatch") page.wrapped("", 0, fmt::format("{}: {}.", name, notice.text));
  for (const std::string& sentence : proof_warnings(before, folder))
    page.wrapped("", 0, "Before: " + sentence);
  if (comparison.gone_s <= 0) return;
  std::string estimate = seconds_text(comparison.gone_s);
  if (comparison.gone_together)
    estimate += fmt::format(" [{} to {}]", seconds_text(before.together->range.low_s),
                            seconds_text(before.together->range.high_s));
  else
    estimate += " (the sum of each alone; together it may be less or more)";
  if (const ReportProved* proved = comparison.gone_proved) estimate += "; proved: " + proved_text(*proved);
  page.wrapped("", 0, "What is gone was expected to save " + estimate + ".");
}

}  // namespace

Comparison compare(const Report& before, const Report& now) {
  Comparison result;
  std::map<std::string, const ReportProblem*> by_key;
  for (const ReportProblem& problem : now.problems) by_key[problem.source_key] = &problem;
  size_t gone = 0;
  for (const ReportProblem& problem : before.problems) {
    auto found = by_key.find(problem.source_key);
    if (found == by_key.end()) {
      result.problems.push_back({State::gone, &problem, nullptr});
      result.gone_s += problem.expected_benefit_s;
      ++gone;
      continue;
    }
    result.problems.push_back({state_of(problem, *found->second, before.runtime_s), &problem, found->second});
    by_key.erase(found);
  }
  for (const ReportProblem& problem : now.problems)
    if (by_key.contains(problem.source_key)) result.problems.push_back({State::fresh, nullptr, &problem});
  std::stable_sort(result.problems.begin(), result.problems.end(), [](const auto& a, const auto& b) {
    return a.state != b.state ? a.state < b.state : a.gain_s() > b.gain_s();
  });
  result.faster_s = before.runtime_s - now.runtime_s;
  result.gone_together = gone > 0 && gone == before.problems.size() && before.together.has_value();
  if (result.gone_together) result.gone_s = before.together->expected_benefit_s;
  result.gone_proved = proved_of_gone(before, result);
  return result;
}

std::string comparison_text(const Report& before, const Report& now, const TextOptions& options) {
  const Comparison comparison = compare(before, now);
  Page page(options.width, options.color);
  summary(page, before, now, comparison, options.working_folder);
  page.line();
  if (comparison.problems.empty()) {
    page.line("No problem before, and none now.");
    return page.text();
  }
  const size_t most = options.top > 0 ? static_cast<size_t>(options.top) : SIZE_MAX;
  const size_t shown = std::min(most, comparison.problems.size());
  auto shown_of = [](const ComparedProblem& problem) -> const ReportProblem& {
    return problem.now ? *problem.now : *problem.before;
  };
  size_t what = 4;
  for (size_t i = 0; i < shown; ++i)
    what = std::max(what, phrase_of(shown_of(comparison.problems[i])).size());
  const bool proved = std::any_of(before.problems.begin(), before.problems.end(),
                                  [](const ReportProblem& problem) { return problem.proved.has_value(); });
  const size_t figures = proved ? 33 + kProved + 1 : 33;
  what = std::min(what, std::max<size_t>(page.width() - figures - 24, 22));
  const size_t place = page.width() - std::min(page.width() - 12, figures + what);
  const auto proved_column = [&](const std::string& text) {
    return proved ? fmt::format(" {:>{}}", text, kProved) : std::string();
  };
  page.line(page.faint(fmt::format("{:<8} {:>9}{} {:>9}   {:<{}}  where", "", "before",
                                   proved_column("proved"), "now", "what", what)));
  for (size_t i = 0; i < shown; ++i) {
    const ComparedProblem& problem = comparison.problems[i];
    const ReportProblem& one = shown_of(problem);
    auto gain = [](const ReportProblem* of) {
      return of ? seconds_text(of->expected_benefit_s) : std::string("-");
    };
    std::string phrase = phrase_of(one);
    if (phrase.size() > what) phrase = phrase.substr(0, what - 3) + "...";
    const std::string was_proved =
        problem.before && problem.before->proved ? proved_text(*problem.before->proved) : "-";
    page.line(fmt::format("{:<8} {:>9}{} {:>9}   {:<{}}  {}", state_word(problem.state), gain(problem.before),
                          proved_column(was_proved), gain(problem.now), phrase, what,
                          where_text(one.where, options.working_folder, place)));
  }
  if (shown < comparison.problems.size())
    page.line("and " + counted(comparison.problems.size() - shown, "more problem") + ": --top " +
              std::to_string(comparison.problems.size()));
  return page.text();
}

}  // namespace diogenes
