#include "views/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "views/shared/figures.h"
#include "views/shared/outline.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/proof_text.h"
#include "views/shared/shortened_name.h"
#include "views/text/gpu_work.h"
#include "views/text/idle_table.h"
#include "views/text/problem_text.h"
#include "views/text/profile_table.h"

namespace diogenes {
namespace {

constexpr size_t kLines = 45;    // of a report of which no more was asked for
constexpr size_t kDetails = 3;   // findings with their reasons
constexpr size_t kRequired = 3;  // needed waits
constexpr size_t kNotices = 3;
constexpr size_t kKernels = 5, kIdlePlaces = 5;
constexpr int kDefaultTop = 10;

// "[170 ms to 200 ms]; " where it is wide.
std::string range_behind(const std::optional<ReportRange>& range) {
  if (!range || range->reason.empty()) return "";
  return fmt::format("; range {} to {}", seconds_text(range->low_s), seconds_text(range->high_s));
}

class Writer {
 public:
  Writer(const Report& report, const TextOptions& options)
      : report_(report),
        options_(options),
        outline_(outline(report)),
        headline_(headline(report, outline_)),
        folder_(common_folder(report, options.working_folder)) {
    std::erase_if(outline_.findings, [&](const Finding& finding) {
      return std::none_of(finding.problems.begin(), finding.problems.end(),
                          [&](const ReportProblem* problem) { return is_asked_for(*problem); });
    });
    for (const ReportRequired& required : report.required)
      if (options.processes.all() || calls_in(required) > 0) required_.push_back(&required);
    std::stable_sort(outline_.findings.begin(), outline_.findings.end(),
                     [&](const Finding& a, const Finding& b) {
                       return amount_of(a, options.order) > amount_of(b, options.order);
                     });
  }

  // As many details as fit; the first finding's always. Kernels come below, and take no room from them.
  std::string write() {
    for (size_t details = std::min(kDetails, outline_.findings.size());; --details) {
      Page page(options_.width, options_.color);
      write(page, details);
      if (details <= 1 || page.lines() - kernel_lines_ <= kLines || asked_for_more()) return page.text();
    }
  }

 private:
  template <typename Entry>
  uint64_t calls_in(const Entry& entry) const {
    return options_.processes.all() ? entry.count
                                    : count_in(report_.processes, entry.occurrences, options_.processes);
  }
  bool is_asked_for(const ReportProblem& problem) const {
    return (options_.kind.empty() || problem.kind == options_.kind) &&
           (options_.processes.all() || calls_in(problem) > 0);
  }
  bool whole() const { return options_.details == "all"; }
  bool one() const { return !options_.details.empty() && !whole(); }
  bool asked_for_more() const {
    return !options_.details.empty() || options_.top > kDefaultTop || options_.top <= 0;
  }
  size_t limit() const { return options_.top > 0 && !whole() ? static_cast<size_t>(options_.top) : SIZE_MAX; }
  ProblemTextOptions how(bool in_full) const { return {folder_, in_full, &report_.processes}; }

  void write(Page& page, size_t details) {
    head(page);
    if (options_.kernels || options_.tree) {
      where_time_goes(page);
      return next(page);
    }
    if (!report_.judged && !one()) return profiled(page);
    if (one()) {
      one_detail(page);
    } else {
      findings(page);
      const size_t shown = whole() ? outline_.findings.size() : details;
      for (size_t i = 0; i < shown; ++i) finding_details(page, i + 1, outline_.findings[i], how(whole()));
      required(page);
    }
    if (options_.sequences || whole()) sequences(page);
    if (options_.profile || whole()) profile_table(page, report_, limit());
    const size_t before = page.lines();
    if (!one()) kernels(page);
    kernel_lines_ = page.lines() - before;
    if (!one()) notices(page);
    next(page);
  }

  void head(Page& page) const {
    const std::vector<std::string> warnings = proof_warnings(report_, folder_);
    for (const std::string& sentence : warnings) page.wrapped("", 0, sentence);
    if (!warnings.empty()) page.line();
    std::string runs = counted(report_.stages.size(), "run");
    const std::string state = report_.incomplete.empty() ? runs + ", complete" : runs + ", not complete";
    const std::string name = program_name(report_.command) + ":";
    page.wrapped(page.bold(name) + " ", name.size() + 1, headline_ + "; " + state);
    page.wrapped("", 0, about_text(report_));
    if (const std::string proved = proof_of_all(report_); !proved.empty())
      page.wrapped("", 0, "Proved: " + proved + ".");
    if (folder_ != options_.working_folder) page.line("Files are in " + folder_ + ".");
    if (!options_.processes.all())
      page.wrapped(
          "", 0,
          "Below is only what occurs in " + chosen_text() + "; what it saves is for the whole program.");
    if (report_.incomplete.empty()) return;
    page.line();
    page.line(page.warning("Not everything was measured; what is missing was not judged:"));
    for (const std::string& sentence : report_.incomplete) page.wrapped("  - ", 4, sentence);
  }

  std::string chosen_text() const {
    const ProcessChoice& choice = options_.processes;
    std::string text = choice.rank ? "rank " + std::to_string(*choice.rank) : "";
    if (choice.pid) text += (text.empty() ? "process " : ", process ") + std::to_string(*choice.pid);
    return text;
  }

  const char* last_heading() const {
    return options_.order == Order::waited ? "waited" : options_.order == Order::bytes ? "bytes" : "calls";
  }
  std::string last_column(const Finding& finding) const {
    if (options_.order == Order::waited) return seconds_text(waited_of(finding));
    if (options_.order == Order::bytes) return bytes_text(bytes_of(finding));
    uint64_t calls = 0;
    for (const ReportProblem* problem : finding.problems) calls += calls_in(*problem);
    return count_text(calls);
  }

  void findings(Page& page) const {
    if (outline_.findings.empty() && (!options_.kind.empty() || !options_.processes.all())) {
      page.line();
      page.line(options_.kind.empty() ? "No finding occurs there."
                                      : "No finding is of the kind " + quoted(options_.kind) +
                                            (options_.processes.all() ? "." : " and occurs there."));
    }
    if (outline_.findings.empty()) return;
    const size_t shown = std::min(limit(), outline_.findings.size());
    size_t what = 4;
    for (size_t i = 0; i < shown; ++i) what = std::max(what, finding_phrase(outline_.findings[i]).size());
    // 22 characters of figures stand before, two between; the calls take 9 where there is room for them.
    const bool calls = page.width() >= 76;
    what = std::min(what, std::max<size_t>(page.width() - 53, 22));
    const size_t place = page.width() - 24 - what - (calls ? 9 : 0);
    page.line();
    page.line(page.faint(fmt::format("{:>12} {:>6}   {:<{}}  {:<{}}{}", "saves", "", "what", what, "where",
                                     place, calls ? fmt::format(" {:>8}", last_heading()) : "")));
    for (size_t i = 0; i < shown; ++i) {
      const Finding& finding = outline_.findings[i];
      const std::string phrase = finding_phrase(finding, what);
      std::string where = finding_place(finding, folder_, place);
      page.line(
          fmt::format("{:>2}. ", i + 1) +
          page.gain(fmt::format("{:>8} {:>6}", seconds_text(finding.benefit_s()),
                                percent_text(finding.benefit_percent()))) +
          "   " + page.bold(fmt::format("{:<{}}", phrase, what)) + "  " +
          fmt::format("{:<{}}{}", where, place, calls ? fmt::format(" {:>8}", last_column(finding)) : ""));
      proofs(page, finding);
    }
    if (shown < outline_.findings.size())
      page.line("    " + counted(outline_.findings.size() - shown, "more finding") +
                (options_.order == Order::benefit
                     ? ", each of " + seconds_text(outline_.findings[shown].benefit_s()) + " or less."
                     : "."));
    for (size_t i = 0; i < shown; ++i)
      if (stands_apart(outline_.findings[i]))
        page.wrapped("    ", 4, fmt::format("{}: {}.", i + 1, apart_text(outline_.findings[i])));
    if (outline_.findings.size() > 1)
      page.wrapped(
          "    ", 4,
          "Each figure is for fixing that place alone (model: " + report_.model + "); they need not add up.");
  }

  // Below a finding's line: what was proved of it, or of those that are in it.
  void proofs(Page& page, const Finding& finding) const {
    const size_t indent = page.width() >= 90 ? 21 : 4;  // below what it is, where there is room
    const std::string margin(indent, ' ');
    if (finding.group && finding.group->proved)
      return page.wrapped(margin, indent, proof_text(*finding.group->proved));
    for (const ReportProblem* problem : finding.problems)
      if (problem->proved)
        page.wrapped(margin, indent,
                     (finding.problems.size() > 1 ? problem->id + ": " : "") + proof_text(*problem->proved));
  }

  void kernels(Page& page) const {
    // Their figures are those of the whole program.
    if (!report_.profile || !options_.kind.empty() || !options_.processes.all()) return;
    if (report_.part) {
      page.line();
      page.wrapped("", 0, "Of the whole run, not only of the part that the findings are from:");
    }
    if (whole())
      gpu_work_in_full(page, *report_.profile, how(true), SIZE_MAX);
    else
      gpu_work_table(page, *report_.profile, {folder_, options_.session}, kKernels);
    idle_table(page, *report_.profile, whole() ? limit() : kIdlePlaces);
  }

  // All that `diogenes profile` has.
  void profiled(Page& page) const {
    if (report_.profile) {
      if (whole())
        gpu_work_in_full(page, *report_.profile, how(true), SIZE_MAX);
      else
        gpu_work_table(page, *report_.profile, {folder_, options_.session}, limit());
      idle_table(page, *report_.profile, limit());
      required(page);
      tree_text(page, *report_.profile, TreeTextOptions{});
      if (!whole()) profile_notes(page, *report_.profile);
    } else {
      page.line();
      page.wrapped("", 0, kNoProfile);
    }
    notices(page);
    next(page);
  }

  void where_time_goes(Page& page) const {
    if (!report_.profile) {
      page.line();
      return page.wrapped("", 0, kNoProfile);
    }
    if (options_.kernels) gpu_work_in_full(page, *report_.profile, how(whole()), limit());
    if (!options_.tree) return;
    TreeTextOptions tree = *options_.tree;
    tree.top = limit();
    tree_text(page, *report_.profile, tree);
    if (!options_.kernels) profile_notes(page, *report_.profile);
  }

  void one_detail(Page& page) const {
    for (const ReportProblem& problem : report_.problems)
      if (problem.id == options_.details) problem_details(page, problem, how(true));
    for (const ReportRequired& required : report_.required)
      if (required.id == options_.details) required_details(page, required, how(true));
    if (report_.profile)
      for (const ReportGpuWork& work : report_.profile->work)
        if (work.id == options_.details) gpu_work_details(page, 0, work, how(true));
    for (const ReportGroup& group : report_.groups) {
      if (group.id != options_.details) continue;
      Finding finding{&group, {}};
      for (const ReportProblem& problem : report_.problems)
        if (std::find(group.members.begin(), group.members.end(), problem.id) != group.members.end())
          finding.problems.push_back(&problem);
      if (finding.problems.empty()) continue;
      page.line();
      page.wrapped("", 0, group.title);
      finding_details(page, 1, finding, how(true));
    }
  }

  void required(Page& page) const {
    if (required_.empty()) return;
    page.line();
    page.line(page.bold(required_heading(report_)));
    const size_t shown = std::min(whole() ? SIZE_MAX : kRequired, required_.size());
    std::map<std::string, std::string> advised;  // fixes that were said, and of which entry
    for (size_t i = 0; i < shown; ++i) {
      const ReportRequired& required = *required_[i];
      // 27 characters of figures and gaps, and 30 for the place where there is room for them.
      const std::string what =
          shortened_name(required_phrase(required), std::max<size_t>(page.width(), 79) - 57);
      const std::string figures = fmt::format("up to {:>8} {:>6}  ", seconds_text(required.up_to_s),
                                              percent_text(required.up_to_percent));
      const size_t room = page.width() - std::min(page.width() - 20, 27 + what.size());
      const std::string where = where_text(required.where, folder_, room);
      const bool fits = figures.size() + what.size() + where.size() + required.id.size() + 6 <= page.width();
      page.line("  " + figures + page.bold(what) + "  " + where +
                (fits ? page.faint("  " + required.id) : ""));
      page.labelled(4, "why",
                    counted(calls_in(required), "time") + "; " + use_text(required, folder_) +
                        range_behind(required.range) +
                        (required.proved ? "; " + proof_text(*required.proved) : ""));
      const auto [same, first] = advised.try_emplace(required.fix, required.id);
      page.labelled(4, "do",
                    (first ? required.fix : "as for " + same->second) + (fits ? "" : "  " + required.id));
    }
    if (shown < required_.size()) page.line("  and " + counted(required_.size() - shown, "more place"));
  }

  void sequences(Page& page) const {
    if (outline_.sequences.empty()) return;
    page.line();
    page.line(page.bold("Sequences") + page.faint("  problems in a row, fixed together"));
    const size_t shown = std::min(limit(), outline_.sequences.size());
    for (size_t i = 0; i < shown; ++i) {
      const ReportGroup& group = *outline_.sequences[i];
      page.line();
      page.wrapped("    " +
                       page.gain(fmt::format("{:>8} {:>6}", seconds_text(group.expected_benefit_s),
                                             percent_text(group.expected_benefit_percent))) +
                       "  ",
                   21, group.title + "  " + group.id);
      std::string members;
      for (const std::string& member : group.members) members += " " + member;
      page.labelled(21, "members", members);
    }
  }

  void notices(Page& page) const {
    if (report_.notices.empty()) return;
    page.line();
    page.line(page.bold("Notices"));
    const size_t shown = std::min(asked_for_more() ? SIZE_MAX : kNotices, report_.notices.size());
    for (size_t i = 0; i < shown; ++i) page.wrapped("  - ", 4, report_.notices[i].text);
    if (shown < report_.notices.size())
      page.line("  - and " + counted(report_.notices.size() - shown, "more notice") + ": --details all");
  }

  void next(Page& page) const {
    const std::string session = options_.session.empty() ? "" : " " + quoted(options_.session);
    const bool resumable =
        std::any_of(report_.incomplete.begin(), report_.incomplete.end(), [](const auto& text) {
          return text.find("interrupted") != std::string::npos ||
                 text.find("did not end") != std::string::npos;
        });
    page.line();
    if (resumable && !options_.session.empty())
      page.line("Next: diogenes run --resume" + session);
    else if (outline_.findings.size() > limit() && !one())
      page.line(fmt::format("Next: diogenes report{} --top {}", session, outline_.findings.size()));
    else if (!outline_.findings.empty() && !whole())
      page.line("Next: diogenes report" + session + " --details all");
    else
      page.line("Next: diogenes export" + session + " --format html -o report.html");
  }

  const Report& report_;
  const TextOptions& options_;
  Outline outline_;                              // of what was asked for
  std::vector<const ReportRequired*> required_;  // likewise
  std::string headline_;                         // of all findings
  std::string folder_;                           // paths are shown relative to it
  size_t kernel_lines_ = 0;                      // of the last page
};

}  // namespace

std::string to_text(const Report& report, const TextOptions& options) {
  return Writer(report, options).write();
}

bool has_id(const Report& report, const std::string& id) {
  auto named = [&](const auto& list) {
    return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.id == id; });
  };
  return named(report.problems) || named(report.groups) || named(report.required) ||
         (report.profile && named(report.profile->work));
}

}  // namespace diogenes
