#include "views/text/problem_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "views/shared/figures.h"
#include "views/shared/occurrences.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/proof_text.h"
#include "views/shared/shortened_name.h"

namespace diogenes {
namespace {

std::string value_use_phrase(const std::string& use) {
  if (use == "decides-a-branch") return "decides a branch";
  if (use == "selects-memory") return "selects a place in memory";
  if (use == "goes-into-a-system-call") return "goes into a system call";
  if (use == "is-passed-to-a-kernel") return "is passed to a kernel";
  if (use == "is-passed-to-the-driver") return "is passed to the driver";
  if (use == "is-overwritten-unused") return "is overwritten unused";
  if (use == "is-kept-to-the-end") return "is not used until the program ends";
  return "";  // not followed further
}

}  // namespace

std::string value_text(const ReportValue& value, const std::string& folder) {
  if (value.uses.empty()) return "";
  const ReportValueUse& first = value.uses.front();
  std::string text;
  const bool copied = 2 * value.copied > value.followed, computed = 2 * value.computed > value.followed;
  if (computed) text += "goes into a computation, and ";
  if (2 * value.later > value.followed)
    text += "is only copied; the copy ";
  else if (copied && !computed)
    text += "is copied, and ";
  const auto frames = telling_frames(first.stack, 1);
  const std::string phrase = value_use_phrase(first.use);
  if (frames.empty())
    text += phrase.empty() ? "is not followed further" : phrase;
  else
    text += (phrase.empty() ? "is followed as far as" : phrase + " at") +
            (" " + place_text(*frames[0], folder, 60));
  if (value.followed == 1)
    text += " (the one value that was followed)";
  else if (first.count == value.followed)
    text += fmt::format(" (all {} values that were followed)", count_text(value.followed));
  else
    text += fmt::format(" ({} of {} values that were followed)", count_text(first.count),
                        count_text(value.followed));
  if (value.moved_up_to_s)
    text += fmt::format("; waiting right before that use would gain {} at most",
                        seconds_text(*value.moved_up_to_s));
  return text;
}

namespace {

constexpr size_t kIndent = 4;
constexpr size_t kFrames = 2;         // of a stack, briefly
constexpr size_t kTitleFigures = 30;  // characters of a title for its rank, figures and id
constexpr size_t kLeastTitle = 42;    // characters for what it says, however narrow the page is
constexpr size_t kPlaces = 4;         // of a finding with several, briefly

size_t title_room(const Page& page) {
  return std::max(page.width(), kTitleFigures + kLeastTitle) - kTitleFigures;
}

// Up to where it names a place: what was seen, whatever the numbers.
std::string without_figures(const std::string& why) {
  std::string text = why.substr(0, why.find(" at "));
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) || c == ',' || c == '.'; });
  return text;
}

class Details {
 public:
  Details(Page& page, const ProblemTextOptions& options) : page_(page), options_(options) {}

  void title(const std::string& lead, const std::string& what, double gain, double percent,
             const std::string& id, const char* before = ", ") {
    page_.line();
    page_.line(lead + page_.bold(what) + before +
               fmt::format("{} ({})", seconds_text(gain), percent_text(percent)) + page_.faint("  " + id));
  }

  void range(const std::optional<ReportRange>& range) {
    if (!range || range->reason.empty() || !options_.whole) return;
    labelled("range", fmt::format("{} to {}: {}", seconds_text(range->low_s), seconds_text(range->high_s),
                                  range->reason));
  }

  void proved(const std::optional<ReportProved>& proved) {
    if (proved) labelled("proved", proof_details(*proved));
  }

  void reasons(const ReportProblem& problem) {
    if (!problem.why.empty()) labelled("why", problem.why);
    if (problem.first_use && problem.first_use->after_s) {
      std::string after = seconds_text(*problem.first_use->after_s) + " after the call returns";
      if (auto frames = telling_frames(problem.first_use->stack, 1); !frames.empty())
        after += ", at " + place_text(*frames[0], options_.folder, room());
      labelled("used", after);
      if (problem.first_use->value) labelled("value", value_text(*problem.first_use->value, options_.folder));
    }
    if (!problem.duplicate_of.empty())
      stack(problem.kind == "round-trip-transfer" ? "from" : "same as", problem.duplicate_of, 1);
    if (!problem.lost_at.empty()) stack("lost at", problem.lost_at, 1);
    if (!problem.fix.empty()) labelled("do", problem.fix);
    conditions(problem);
  }

  // The reasons are those of the problem that gains most. Figures may differ, and places.
  void others(const Finding& finding) {
    const ReportProblem& first = *finding.problems.front();
    size_t count = 0;
    std::string kinds;
    for (const ReportProblem* problem : finding.problems) {
      if (problem->kind == first.kind && problem->fix == first.fix &&
          without_figures(problem->why) == without_figures(first.why))
        continue;
      ++count;
      const std::string kind = kind_phrase(problem->kind);
      if (problem->kind != first.kind && kinds.find(kind) == std::string::npos)
        kinds += (kinds.empty() ? " (" : ", ") + kind;
    }
    if (count == 0) return;
    if (!kinds.empty()) kinds += ")";
    labelled("others", fmt::format("{} of the {} here {} other reasons{}: see the details of {}",
                                   count_text(count), counted(finding.problems.size(), "problem"),
                                   count == 1 ? "has" : "have", kinds, finding.id()));
  }

  // What the finding rests on is said, even where its first problem does not.
  void rests_on(const Finding& finding) {
    for (const ReportProblem* problem : finding.problems)
      for (const ReportCondition& condition : problem->conditions) {
        if (condition.code != "kernel-arguments") continue;
        if (problem != finding.problems.front()) labelled("check", "for some of them: " + condition.text);
        return;
      }
  }

  void stack(const std::string& label, const std::vector<ReportFrame>& frames, size_t most) {
    std::string lead = label;
    for (const ReportFrame* frame : telling_frames(frames, options_.whole ? SIZE_MAX : most)) {
      page_.line(std::string(kIndent, ' ') + page_.faint(fmt::format("{:<{}}", lead, Page::kLabel)) +
                 place_text(*frame, options_.folder, room()));
      lead.clear();
    }
  }

  void source(const ReportProblem& problem) {
    if (!problem.where) return;
    for (size_t i = 0; i < problem.source.lines.size(); ++i) {
      const int number = problem.source.first + static_cast<int>(i);
      const bool marked = number == problem.where->line;
      if (!marked && !options_.whole) continue;
      std::string text = fmt::format("{:>{}} {:>5} | ", marked ? ">" : "", kIndent + 1, number);
      for (char c : problem.source.lines[i]) text += c == '\t' ? ' ' : c;
      text = cut_around(text, marked && problem.where->column > 0
                                  ? text.size() - problem.source.lines[i].size() +
                                        static_cast<size_t>(problem.where->column) - 1
                                  : 0);
      page_.line(marked ? page_.bold(text) : page_.faint(text));
    }
  }

  // As long as the page is wide; `at`, the call's place in it, stays to be seen, and so does its number.
  std::string cut_around(const std::string& text, size_t at) const {
    const size_t width = page_.width(), margin = kIndent + 10;
    if (text.size() <= width) return text;
    if (at <= margin || at + width / 4 < width) return text.substr(0, width - 3) + "...";
    const size_t begin = std::min(at - width / 4, text.size() - (width - margin - 3));
    std::string cut = text.substr(0, margin) + "..." + text.substr(begin, width - margin - 3);
    if (begin + (width - margin - 3) < text.size()) cut.replace(cut.size() - 3, 3, "...");
    return cut;
  }

  void happens(const ReportProblem& problem) {
    if (!options_.whole) return;
    labelled("cost",
             cost_text(problem.count, problem.instances, problem.waited_s, problem.call_s, problem.bytes));
    occurs(problem.occurrences);
    const std::string call =
        problem.api.empty() ? problem.operation : problem.api + " (" + problem.operation + ")";
    labelled("call", problem.via.empty() ? call : call + " in " + problem.via);
  }

  void occurs(const std::vector<ReportOccurrence>& occurrences) {
    const std::string text = options_.processes ? occurrences_text(*options_.processes, occurrences) : "";
    if (!text.empty()) labelled("in", text);
  }

  void labelled(const std::string& label, const std::string& text) { page_.labelled(kIndent, label, text); }
  size_t room() const { return page_.width() - std::min<size_t>(page_.width() - 20, kIndent + Page::kLabel); }

 private:
  // What holds for every finding of its kind is said where all is asked for.
  void conditions(const ReportProblem& problem) {
    for (const ReportCondition& condition : problem.conditions)
      if (options_.whole || can_break(condition)) labelled("check", condition.text);
  }

  Page& page_;
  const ProblemTextOptions& options_;
};

}  // namespace

std::string finding_place(const Finding& finding, const std::string& folder, size_t room) {
  std::vector<std::string> places;
  for (const ReportProblem* problem : finding.problems) {
    std::string place = where_text(problem->where, folder, room);
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
  }
  return places.size() == 1 ? places[0] : counted(places.size(), "place");
}

namespace {
// What goes at most beside the waits, their calls and copies.
std::string whole_text(const ReportRequired& required) {
  constexpr double kMore = 1.05;
  const bool as_worded = required.waits_gain_s > 0;  // up_to_s holds it
  if (!as_worded && required.at_most_s < kMore * required.up_to_s) return "";
  const std::string alone =
      as_worded ? fmt::format("; the waits alone gain {}", seconds_text(required.waits_gain_s)) : "";
  if (in_turns(required.count, required.turns))
    return fmt::format("; with the {} of the loop around it made at once (it is run {}){}",
                       counted(required.turns + required.loops, "turn"), counted(required.loops, "time"),
                       alone);
  if (in_parts(required.count, required.in_parts))
    return fmt::format("; with all that {} does around them{}", required.part, alone);
  std::string more;
  const auto add = [&](const std::string& text) { more += (more.empty() ? "" : " and ") + text; };
  if (required.launches > 0)
    add(fmt::format("the {} that the line launches right before", counted(required.launches, "kernel")));
  if (required.between_s > 0)
    add(fmt::format("{} of CPU time around them", seconds_text(required.between_s)));
  if (required.work_s > 0)
    add(fmt::format("the CPU's {} of work on the {} that are brought", seconds_text(required.work_s),
                    bytes_text(required.bytes)));
  if (more.empty()) return "";
  if (as_worded) return fmt::format("; that is without {}, too{}", more, alone);
  return fmt::format("; up to {} if {} can go, too", seconds_text(required.at_most_s), more);
}
}  // namespace

std::string use_text(const ReportRequired& required, const std::string& folder) {
  if (required.sends)
    return fmt::format("it sends {}, which the CPU likely makes in the {} before", bytes_text(required.bytes),
                       seconds_text(required.made_s));
  std::string text = required.used_for.empty() ? "it counts as needed" : required.used_for;
  if (required.queries > 0)
    text = (required.used_for.empty() ? "" : text + "; ") +
           fmt::format("the program asks {} whether the work is done", counted(required.queries, "time"));
  const auto because = [&](const char* code) {
    return std::any_of(required.reasons.begin(), required.reasons.end(),
                       [&](const auto& reason) { return reason.first == code; });
  };
  const bool judged = is_judged(required);
  if (!judged)
    text = because("over-budget")   ? "not judged: it was not looked at, to keep within --max-overhead"
           : because(kOnlyProfiled) ? "not judged: a profile watches no memory"
           : because("unresolved")  ? "not judged: the run that watches memory did not get that far"
                                    : "not judged: its result could not be watched";
  if (judged && required.used_by && !required.used_for.empty())
    if (auto frames = telling_frames(required.used_by->stack, 1); !frames.empty())
      text += " at " + place_text(*frames[0], folder, 60);
  if (required.used_by && required.used_by->value)
    text += "; the value " + value_text(*required.used_by->value, folder);
  if (judged && required.not_judged > 0)
    text += fmt::format("; {} of {} were not judged", count_text(required.not_judged),
                        count_text(required.count));
  if (required.same_value > 1 && 10 * required.same_value >= 9 * required.values)
    text += fmt::format("; {} of {} copies brought the same bytes", count_text(required.same_value),
                        count_text(required.values));
  if (come_one_by_one(required.count, required.in_a_row, required.bytes))
    text += fmt::format("; {} results of {} are brought one by one", count_text(required.count),
                        bytes_text(required.bytes / required.count));
  if (required.unused_bytes > 0)
    text += fmt::format("; nobody looks at {} of the {} that are brought{}",
                        bytes_text(required.unused_bytes), bytes_text(required.bytes),
                        required.without_unused_s > 0
                            ? "; bringing only the rest gains " + seconds_text(required.without_unused_s)
                            : "");
  return text + whole_text(required);
}

std::string calls_text(const ReportRequired& required) {
  if (required.calls.size() < 2) return "";
  std::string text;
  for (const ReportRequiredCall& call : required.calls)
    text +=
        fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count_text(call.count),
                    call.api.empty() ? call.operation : call.api, call.waits ? "" : " to bring the result");
  return text;
}

void problem_details(Page& page, const ReportProblem& problem, const ProblemTextOptions& options) {
  Details details(page, options);
  details.title("", finding_phrase({nullptr, {&problem}}, title_room(page)), problem.expected_benefit_s,
                problem.expected_benefit_percent, problem.id);
  details.proved(problem.proved);
  details.reasons(problem);
  details.stack("at", problem.stack, kFrames);
  details.source(problem);
  details.happens(problem);
  details.range(problem.range);
}

void finding_details(Page& page, size_t rank, const Finding& finding, const ProblemTextOptions& options) {
  Details details(page, options);
  const ReportProblem& first = *finding.problems.front();
  details.title(rank > 0 ? fmt::format("{:>2}. ", rank) : "", finding_phrase(finding, title_room(page)),
                finding.benefit_s(), finding.benefit_percent(), finding.id());
  details.range(finding.range());
  if (options.whole && finding.group) details.proved(finding.group->proved);
  if (finding.problems.size() == 1 || !options.whole) {
    if (options.whole) details.proved(first.proved);
    details.reasons(first);
    details.rests_on(finding);
    details.others(finding);
    std::vector<std::string> places;
    for (const ReportProblem* problem : finding.problems) {
      std::string place = where_text(problem->where, options.folder, details.room());
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
    }
    if (places.size() < 2) {
      details.stack("at", first.stack, kFrames);
      details.source(first);
    } else {
      for (size_t i = 0; i < std::min(places.size(), kPlaces); ++i)
        details.labelled(i == 0 ? "at" : "", places[i]);
      if (places.size() > kPlaces)
        details.labelled("", fmt::format("and {}", counted(places.size() - kPlaces, "more place")));
    }
    details.happens(first);
    return;
  }
  for (const ReportProblem* problem : finding.problems) problem_details(page, *problem, options);
}

void required_details(Page& page, const ReportRequired& required, const ProblemTextOptions& options) {
  Details details(page, options);
  const std::string kind = ": " + required_kind(required);
  details.title("", shortened_name(required_phrase(required), title_room(page) - kind.size()) + kind,
                required.up_to_s, required.up_to_percent, required.id, ", up to ");
  details.proved(required.proved);
  details.labelled("why", use_text(required, options.folder));
  details.labelled("do", required.fix);
  details.stack("at", required.stack, kFrames);
  if (!options.whole) return;
  if (const std::string calls = calls_text(required); !calls.empty()) details.labelled("calls", calls);
  details.labelled("cost", cost_text(required.count, required.instances, required.waited_s, required.call_s));
  details.occurs(required.occurrences);
  if (required.used_by) details.stack("used", required.used_by->stack, kFrames);
  details.range(required.range);
}

}  // namespace diogenes
