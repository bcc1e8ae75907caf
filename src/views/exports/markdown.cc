// The report for a pull request's comment: a table of the findings, then each with its reasons folded away. GitHub's
// Markdown; what comes from the program is escaped, so that it is shown as it is. In: a report. Out: the whole text,
// below the 65,536 characters that a comment may have; what is left out is counted.
#include <fmt/format.h>

#include <algorithm>

#include "views/exports/exports.h"
#include "views/shared/figures.h"
#include "views/shared/outline.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/proof_text.h"
#include "views/shared/shortened_name.h"
#include "views/text/gpu_work.h"
#include "views/text/problem_text.h"

namespace diogenes {
namespace {

constexpr size_t kRows = 20, kMostRequired = 5, kMostKernels = 5;
constexpr size_t kRoom = 60'000;      // characters; then details are left out
constexpr size_t kPlaceWidth = 80;    // characters of a place
constexpr size_t kLongestLine = 160;  // of source

// As text: no emphasis, links, mentions, tables or HTML.
std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '@':
        out += "&#64;";
        break;
      case '#':
        out += "&#35;";
        break;
      case '\n':
      case '\r':
      case '\t':
        out += ' ';
        break;
      default:
        if (std::string_view("\\`*_{}[]|~").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
  }
  return out;
}

std::string places_of(const Finding& finding, const Reader& reader) {
  std::vector<std::string> places;
  for (const ReportProblem* problem : finding.problems) {
    std::string place = where_text(problem->where, reader.folder, kPlaceWidth);
    if (!place.empty() && std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(std::move(place));
  }
  if (places.empty()) return "";
  return places.size() == 1 ? places[0] : counted(places.size(), "place");
}

std::string source_block(const ReportProblem& problem) {
  if (problem.source.lines.empty() || !problem.where) return "";
  std::string text = "\n```\n";
  for (size_t i = 0; i < problem.source.lines.size(); ++i) {
    const int number = problem.source.first + static_cast<int>(i);
    std::string line = problem.source.lines[i].substr(0, kLongestLine);
    // A fence in the source would end this one.
    for (size_t at; (at = line.find("```")) != std::string::npos;) line.replace(at, 3, "'''");
    text += fmt::format("{} {:>5} | {}\n", number == problem.where->line ? ">" : " ", number, line);
  }
  return text + "```\n";
}

std::string details_of(const ReportProblem& problem, const Reader& reader) {
  std::string text;
  auto item = [&](const char* label, const std::string& what) {
    if (!what.empty()) text += fmt::format("- **{}** {}\n", label, escaped(what));
  };
  item("Where", where_text(problem.where, reader.folder, kPlaceWidth));
  if (problem.proved) item("Proved", proof_details(*problem.proved));
  item("Why", problem.why);
  item("Do", problem.fix);
  for (const ReportCondition& condition : problem.conditions)
    if (can_break(condition)) item("Check", condition.text);
  item("Cost", cost_text(problem.count, problem.instances, problem.waited_s, problem.call_s, problem.bytes));
  return text + source_block(problem) + "\n";
}

std::string finding_text(size_t rank, const Finding& finding, const Reader& reader) {
  std::string text =
      fmt::format("<details><summary>{}. {}: {} ({})</summary>\n\n", rank, escaped(finding_phrase(finding)),
                  seconds_text(finding.benefit_s()), percent_text(finding.benefit_percent()));
  if (finding.group && finding.group->proved)
    text += fmt::format("- **Proved** {}\n", escaped(proof_details(*finding.group->proved)));
  for (const ReportProblem* problem : finding.problems) text += details_of(*problem, reader);
  return text + "</details>\n\n";
}

std::string kernels_table(const ReportProfile& profile, const Reader& reader) {
  if (profile.work.empty()) return "";
  std::string text = fmt::format("\n{}, by GPU time, and what the run gains if one takes half as long:\n\n",
                                 gpu_work_title(profile));
  text += "| GPU time | | gains | at most | what | where |\n|--:|--:|--:|--:|:--|:--|\n";
  for (size_t i = 0; i < std::min(kMostKernels, profile.work.size()); ++i) {
    const ReportGpuWork& work = profile.work[i];
    const bool gains = work.what_if && !is_hidden(work);
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", seconds_text(work.gpu_s), percent_text(work.percent),
                    gains          ? gain_phrase(work.what_if->half)
                    : work.what_if ? "hidden"
                                   : "",
                    gains ? seconds_text(work.what_if->none.seconds) : "",
                    escaped(shortened_name(work.name, kPlaceWidth)),
                    escaped(launch_place(work, reader.folder, kPlaceWidth)));
  }
  return text;
}

}  // namespace

std::string to_markdown(const Report& report, const Reader& reader) {
  const Outline all = outline(report);
  std::string text = fmt::format("### Diogenes: {}\n\n", escaped(program_name(report.command)));
  const std::vector<std::string> warnings = proof_warnings(report, reader.folder);
  for (const std::string& sentence : warnings) text += "> - " + escaped(sentence) + "\n";
  if (!warnings.empty()) text += "\n";
  text += fmt::format("**{}**; {}\n\n", escaped(headline(report, all)), escaped(about_text(report)));
  if (const std::string proved = proof_of_all(report); !proved.empty())
    text += "Proved: " + escaped(proved) + ".\n\n";
  if (!report.incomplete.empty()) {
    text += "> Not everything was measured; what is missing was not judged:\n";
    for (const std::string& sentence : report.incomplete) text += "> - " + escaped(sentence) + "\n";
    text += "\n";
  }
  const size_t rows = std::min(kRows, all.findings.size());
  if (rows > 0) text += "| | saves | | what | where | calls |\n|--:|--:|--:|:--|:--|--:|\n";
  for (size_t i = 0; i < rows; ++i) {
    const Finding& finding = all.findings[i];
    uint64_t calls = 0;
    for (const ReportProblem* problem : finding.problems) calls += problem->count;
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", i + 1, seconds_text(finding.benefit_s()),
                        percent_text(finding.benefit_percent()), escaped(finding_phrase(finding)),
                        escaped(places_of(finding, reader)), count_text(calls));
  }
  if (rows > 0) text += "\n";
  if (rows < all.findings.size())
    text += fmt::format("{}, each of {} or less.\n\n", counted(all.findings.size() - rows, "more finding"),
                        seconds_text(all.findings[rows].benefit_s()));
  size_t shown = 0;
  for (; shown < rows; ++shown) {
    std::string one = finding_text(shown + 1, all.findings[shown], reader);
    if (text.size() + one.size() > kRoom) break;
    text += one;
  }
  if (shown < rows) text += fmt::format("Details of {} are left out.\n\n", counted(rows - shown, "finding"));
  if (!report.required.empty()) text += required_heading(report) + ":\n\n";
  for (size_t i = 0; i < std::min(kMostRequired, report.required.size()); ++i) {
    const ReportRequired& required = report.required[i];
    text += fmt::format("- up to {} ({}): {} at {}; {}\n", seconds_text(required.up_to_s),
                        percent_text(required.up_to_percent), escaped(required_phrase(required)),
                        escaped(where_text(required.where, reader.folder, kPlaceWidth)),
                        escaped(use_text(required, reader.folder) + ". Do: " + required.fix) +
                            (required.proved ? "; " + escaped(proof_text(*required.proved)) : ""));
  }
  if (report.profile) text += kernels_table(*report.profile, reader);
  return text;
}

}  // namespace diogenes
