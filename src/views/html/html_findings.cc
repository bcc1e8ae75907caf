// Findings, needed waits, groups of the page: plain HTML that folds without a script. In: a report and its outline.
// Out: elements with the ids f1, f2, ... and r1, r2, ..., which html_data.cc refers to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "views/html/html_parts.h"
#include "views/shared/figures.h"
#include "views/shared/occurrences.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/proof_text.h"
#include "views/text/problem_text.h"

namespace diogenes {
namespace {

class Entries {
 public:
  Entries(const Report& report, const Reader& reader) : report_(report), reader_(reader) {}

  std::string finding(size_t number, const Finding& finding, double most) const {
    uint64_t calls = 0;
    for (const ReportProblem* problem : finding.problems) calls += problem->count;
    const std::string what = finding_phrase(finding), where = places(finding);
    std::string text = fmt::format(
        "<details{} id=\"f{}\" data-saves=\"{}\" data-calls=\"{}\" data-what=\"{}\" data-where=\"{}\">\n<summary>",
        number == 1 ? " open" : "", number, finite(finding.benefit_s()), calls, html(what), html(where));
    text += figures(finding.benefit_s(), finding.benefit_percent(), most);
    text += fmt::format(
        "<span class=\"what\">{}</span><span class=\"where\">{}</span><span class=\"number calls\">{}</span>"
        "<span class=\"fix\">{}</span></summary>\n<div class=\"body\">\n",
        html(what), html(where), count_text(calls), html(finding.problems.front()->fix));
    const bool several = finding.problems.size() > 1;
    for (const ReportProblem* one : finding.problems) text += problem(*one, several);
    if (several)
      text += "<div class=\"problem\"><h3>Together</h3><dl>" + range(finding.range()) +
              (finding.group ? proved(finding.group->proved) : "") + html_item("id", html(finding.id())) +
              "</dl></div>\n";
    return text + "</div>\n</details>\n";
  }

  std::string needed(size_t number, const ReportRequired& required, double most) const {
    std::string text = fmt::format("<details id=\"r{}\">\n<summary>", number);
    text += figures(required.up_to_s, required.up_to_percent, most);
    text += fmt::format(
        "<span class=\"what\">{}</span><span class=\"where\">{}</span><span class=\"number calls\">{}</span></summary>\n"
        "<div class=\"body\"><dl>",
        html(required_phrase(required)), html(where_text(required.where, reader_.folder, kWholePlace)),
        count_text(required.count));
    text += proved(required.proved);
    text += html_item("why", html(use_text(required, reader_.folder)));
    text += html_item("do", html(required.fix));
    text += range(required.range);
    if (required.used_by) text += place("used", required.used_by->stack);
    text += html_item("calls", html(calls_text(required)));
    text +=
        html_item("cost", cost_text(required.count, required.instances, required.waited_s, required.call_s));
    text += html_item("in", html(occurrences_text(report_.processes, required.occurrences)));
    text += html_item("id", html(required.id)) + "</dl>\n";
    return text + html_stack(required.stack, reader_) + "</div>\n</details>\n";
  }

 private:
  static double finite(double value) { return std::isfinite(value) ? value : 0; }

  static std::string figures(double gain, double percent, double most) {
    const double share = most > 0 ? std::clamp(100 * finite(gain) / most, 0.0, 100.0) : 0;
    return fmt::format(
        "<span class=\"number saves\">{}<i style=\"width:{:.1f}%\"></i></span><span class=\"number\">{}</span>",
        seconds_text(gain), share, html(percent_text(percent)));
  }

  static std::string proved(const std::optional<ReportProved>& proved) {
    return proved ? html_item("proved", html(proof_details(*proved))) : "";
  }

  static std::string range(const std::optional<ReportRange>& range) {
    if (!range || seconds_text(range->low_s) == seconds_text(range->high_s)) return "";
    std::string text = fmt::format("{} to {}", seconds_text(range->low_s), seconds_text(range->high_s));
    if (!range->reason.empty()) text += ": " + html(range->reason);
    return html_item("range", text);
  }

  std::string places(const Finding& finding) const {
    std::vector<std::string> all;
    for (const ReportProblem* one : finding.problems) {
      std::string place = where_text(one->where, reader_.folder, kWholePlace);
      if (!place.empty() && std::find(all.begin(), all.end(), place) == all.end())
        all.push_back(std::move(place));
    }
    if (all.empty()) return "";
    return all.size() == 1 ? all[0] : counted(all.size(), "place");
  }

  std::string place(const char* label, const std::vector<ReportFrame>& frames) const {
    const auto telling = telling_frames(frames, 1);
    if (telling.empty()) return "";
    return html_item(label, "<span class=\"where\">" +
                                html(place_text(*telling[0], reader_.folder, kWholePlace)) + "</span>");
  }

  std::string problem(const ReportProblem& problem, bool titled) const {
    std::string text = "<div class=\"problem\">\n";
    if (titled)
      text += fmt::format("<h3>{}: {} alone</h3>\n", html(finding_phrase({nullptr, {&problem}})),
                          seconds_text(problem.expected_benefit_s));
    text += "<dl>" + proved(problem.proved) + html_item("why", html(problem.why)) + used(problem);
    text += place(problem.kind == "round-trip-transfer" ? "from" : "same as", problem.duplicate_of);
    text += place("lost at", problem.lost_at) + html_item("do", html(problem.fix));
    for (const ReportCondition& condition : problem.conditions)
      text += html_item("check", html(condition.text));
    text += html_item("at", "<span class=\"where\">" +
                                html(where_text(problem.where, reader_.folder, kWholePlace)) + "</span>");
    text += "</dl>\n" + source(problem) + "<dl>";
    text += range(problem.range);
    text += html_item(
        "cost", cost_text(problem.count, problem.instances, problem.waited_s, problem.call_s, problem.bytes));
    text += html_item("in", html(occurrences_text(report_.processes, problem.occurrences)));
    std::string call = problem.api.empty() ? problem.operation : problem.api + " (" + problem.operation + ")";
    if (!problem.via.empty()) call += " in " + problem.via;
    text += html_item("call", html(call)) + html_item("id", html(problem.id + "  " + problem.source_key)) +
            "</dl>\n";
    text += html_stack(problem.stack, reader_);
    const auto position = &problem - report_.problems.data();
    return text +
           fmt::format(
               "<p class=\"needs-script\"><button type=\"button\" data-show-problem=\"{}\">Show in the "
               "timeline</button></p></div>\n",
               position);
  }

  std::string used(const ReportProblem& problem) const {
    if (!problem.first_use || !problem.first_use->after_s) return "";
    std::string text = seconds_text(*problem.first_use->after_s) + " after the call returns";
    if (auto frames = telling_frames(problem.first_use->stack, 1); !frames.empty())
      text += ", at <span class=\"where\">" + html(place_text(*frames[0], reader_.folder, kWholePlace)) +
              "</span>";
    std::string value;
    if (problem.first_use->value)
      value = html_item("value", html(value_text(*problem.first_use->value, reader_.folder)));
    return html_item("used", text) + value;
  }

  static std::string source(const ReportProblem& problem) {
    if (!problem.where || problem.source.lines.empty()) return "";
    std::string text = "<pre>";
    for (size_t i = 0; i < problem.source.lines.size(); ++i) {
      const int number = problem.source.first + static_cast<int>(i);
      const char* tag = number == problem.where->line ? "mark" : "span";
      text += fmt::format("<{0}><b>{1}</b>{2}</{0}>", tag, number, html(problem.source.lines[i]));
    }
    return text + "</pre>\n";
  }

  const Report& report_;
  const Reader& reader_;
};

const char* kColumns =
    "<div class=\"head needs-script\" id=\"finding-head\"><span></span>"
    "<button type=\"button\" class=\"number\" data-column=\"saves\" data-order=\"usual\">saves</button><span></span>"
    "<button type=\"button\" data-column=\"what\">what</button>"
    "<button type=\"button\" data-column=\"where\">where</button>"
    "<button type=\"button\" class=\"number\" data-column=\"calls\">calls</button></div>\n";

}  // namespace

std::string findings_html(const Report& report, const Outline& outline, const Reader& reader) {
  std::string text = "<section id=\"findings\"><h2>Findings</h2>\n";
  if (outline.findings.empty())
    return text + fmt::format("<p class=\"nothing\">{}.</p></section>\n", html(headline(report, outline)));
  text += fmt::format(
      "<p>Each figure is for fixing that place alone (model: {}); two fixes may save the same time, so they need not add "
      "up.</p>\n",
      html(report.model));
  text +=
      "<div class=\"tools needs-script\"><input id=\"filter\" type=\"search\" placeholder=\"Filter: words of a finding\" "
      "aria-label=\"Filter findings\"><button type=\"button\" id=\"open-all\">Open all</button>"
      "<span class=\"status\" id=\"finding-status\" role=\"status\"></span></div>\n";
  text += kColumns;
  text += "<div class=\"rows\" id=\"finding-list\">\n";
  const Entries entries(report, reader);
  const double most = outline.findings.front().benefit_s();
  for (size_t i = 0; i < outline.findings.size(); ++i)
    text += entries.finding(i + 1, outline.findings[i], most);
  return text + "</div></section>\n";
}

std::string required_html(const Report& report, const Reader& reader) {
  if (report.required.empty()) return "";
  std::string text =
      "<section id=\"needed\"><h2>" + required_heading(report) +
      "</h2>\n<p>Needed ones are no mistakes. The figure is what the run would save if the CPU did not have to wait "
      "there, or to "
      "make and send that data.</p>\n<div class=\"rows needed\">\n";
  const Entries entries(report, reader);
  double most = 0;
  for (const ReportRequired& required : report.required) most = std::max(most, required.up_to_s);
  for (size_t i = 0; i < report.required.size(); ++i) text += entries.needed(i + 1, report.required[i], most);
  return text + "</div></section>\n";
}

bool has_groups(const Report& report) {
  return std::any_of(report.groups.begin(), report.groups.end(),
                     [](const ReportGroup& group) { return group.members.size() > 1; });
}

std::string groups_html(const Report& report, const Outline& outline) {
  std::vector<const ReportGroup*> groups;
  for (const ReportGroup& group : report.groups)
    if (group.members.size() > 1) groups.push_back(&group);
  if (groups.empty()) return "";
  std::string text =
      "<section id=\"groups\"><h2>Groups</h2>\n<p>Problems that one change may fix, and what they save "
      "together.</p>\n<div class=\"scroll\"><table><thead><tr><th>group</th><th "
      "class=\"number\">saves</th><th></th><th>what they have in "
      "common</th><th>title</th><th>members</th></tr></thead><tbody>\n";
  std::stable_sort(groups.begin(), groups.end(), [](const ReportGroup* a, const ReportGroup* b) {
    return a->expected_benefit_s > b->expected_benefit_s;
  });
  auto finding_of = [&](const std::string& id) -> std::string {
    for (size_t i = 0; i < outline.findings.size(); ++i)
      for (const ReportProblem* problem : outline.findings[i].problems)
        if (problem->id == id) return "f" + std::to_string(i + 1);
    return "findings";
  };
  for (const ReportGroup* group : groups) {
    std::string members;
    for (const std::string& member : group->members)
      members += fmt::format("{}<a href=\"#{}\">{}</a>", members.empty() ? "" : " ", finding_of(member),
                             html(member));
    text += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html(group->id), seconds_text(group->expected_benefit_s),
        html(percent_text(group->expected_benefit_percent)), html(grouping_phrase(group->grouping)),
        html(group->title), members);
  }
  return text + "</tbody></table></div></section>\n";
}

}  // namespace diogenes
