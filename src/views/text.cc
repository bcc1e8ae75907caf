#include "views/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "views/figures.h"
#include "views/outline.h"
#include "views/places.h"

namespace diogenes {
namespace {

constexpr size_t kShort = 10;           // the default of --top; who asks for more gets groups whole
constexpr size_t kProblemsOfGroup = 3;  // shown of one group in a short report
constexpr size_t kFrames = 4;           // shown of one stack
constexpr size_t kFigures = 21;         // width of rank, benefit and percentage
constexpr int kLabel = 11;              // width of the labels' column

// A kind in plain words; one that a later version adds is shown as it is named.
std::string kind_text(const std::string& kind) {
  if (kind == "unnecessary-synchronization") return "Unnecessary synchronization";
  if (kind == "misplaced-synchronization") return "Synchronization long before its data is used";
  if (kind == "duplicate-transfer") return "Transfer of data that was already there";
  if (kind == "duplicate-transfer-elsewhere") return "Transfer of data that the device got before";
  if (kind == "round-trip-transfer") return "Transfer of data back to where it came from, unchanged";
  if (kind == "unused-transfer") return "Transfer of data that nothing uses";
  if (kind == "pageable-transfer") return "Asynchronous transfer held up by pageable memory";
  if (kind == "repeated-allocation") return "Memory released and allocated again";
  if (kind == "unused-allocation") return "Memory that nothing uses";
  std::string words = kind;
  std::replace(words.begin(), words.end(), '-', ' ');
  if (!words.empty()) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words;
}

bool plain_argument(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("_-./=+:,@%").find(c) != std::string_view::npos;
}

// As a shell would take it back.
std::string quoted(const std::string& argument) {
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain_argument)) return argument;
  std::string result = "'";
  for (char c : argument) {
    if (c == '\'')
      result += "'\\''";
    else
      result += std::iscntrl(static_cast<unsigned char>(c)) ? '?' : c;
  }
  return result + "'";
}

class Writer {
 public:
  Writer(const Report& report, const TextOptions& options)
      : report_(report),
        options_(options),
        width_(std::max(options.width, 60)),
        indent_(width_ < 90 ? 6 : kFigures),
        limit_(options.top > 0 ? options.top : SIZE_MAX) {}

  std::string write() {
    outline_ = outline(report_);
    head();
    findings();
    sequences();
    functions();
    notices();
    next();
    return std::move(text_);
  }

 private:
  std::string bold(const std::string& text) const {
    return options_.color ? "\x1b[1m" + text + "\x1b[0m" : text;
  }
  std::string faint(const std::string& text) const {
    return options_.color ? "\x1b[2m" + text + "\x1b[0m" : text;
  }
  std::string benefit(const std::string& text) const {
    return options_.color ? "\x1b[1;32m" + text + "\x1b[0m" : text;
  }

  // A section's head; what explains it goes where there is no room.
  void section(const std::string& title, const std::string& explained = "") {
    bool fits = title.size() + 2 + explained.size() <= static_cast<size_t>(width_);
    line(bold(title) + (fits && !explained.empty() ? faint("  " + explained) : ""));
  }

  void line(const std::string& text = "") {
    text_ += text;
    text_.erase(text_.find_last_not_of(' ') + 1);
    text_ += '\n';
  }

  // `text` broken between words, each line after the first indented by `indent`; `first` stands before the
  // first.
  void wrapped(const std::string& first, size_t indent, const std::string& text) {
    std::istringstream words(text);
    std::string word, current = first, margin(indent, ' ');
    size_t used = indent;
    bool empty = true;
    while (words >> word) {
      if (!empty && used + 1 + word.size() > static_cast<size_t>(width_)) {
        line(current);
        current = margin;
        used = indent;
        empty = true;
      }
      if (!empty) {
        current += ' ';
        ++used;
      }
      current += word;
      used += word.size();
      empty = false;
    }
    line(current);
  }

  void labelled(size_t indent, const std::string& label, const std::string& text) {
    std::string margin(indent, ' ');
    wrapped(margin + faint(fmt::format("{:<{}}", label, kLabel)), indent + kLabel, text);
  }

  void head() {
    std::string command;
    for (const std::string& argument : report_.command)
      command += (command.empty() ? "" : " ") + quoted(argument);
    line(bold("Diogenes") + "  " + command);
    line();
    std::string runtime = seconds_text(report_.runtime_s);
    if (report_.exit_status != 0) runtime += fmt::format(", exit status {}", report_.exit_status);
    labelled(0, "run time", runtime);
    std::string gpu = report_.device_name.empty() ? "unknown device" : report_.device_name;
    if (report_.simulated) {
      gpu += ", simulated driver";
    } else if (!report_.driver_version.empty()) {
      gpu += ", driver " + report_.driver_version;
    }
    labelled(0, "GPU", gpu);
    std::string totals = "no synchronizations";
    if (report_.synchronizations)
      totals = counted(report_.synchronizations, "synchronization") + " waited " +
               seconds_text(report_.waited_s) + of_runtime(report_.waited_s);
    totals += report_.transfers ? ", " + counted(report_.transfers, "transfer") + " moved " +
                                      bytes_text(report_.transferred_bytes)
                                : ", no transfers";
    labelled(0, "observed", totals);
    std::string stages;
    for (const ReportStage& stage : report_.stages) {
      if (!stages.empty()) stages += ", ";
      stages += stage.name + " " + seconds_text(stage.runtime_s);
      if (stage.overhead > 0) stages += " (" + overhead_text(stage.overhead) + ")";
    }
    if (!stages.empty()) labelled(0, "runs", stages);
    line();
  }

  std::string of_runtime(double seconds) const {
    return report_.runtime_s > 0 ? " (" + percent_text(100 * seconds / report_.runtime_s) + ")" : "";
  }

  void nothing_found() {
    if (report_.synchronizations == 0 && report_.transfers == 0) {
      line(bold("Nothing to measure: the program made no synchronization and no transfer."));
      return;
    }
    line(bold("No problems found."));
    wrapped(
        "", 0,
        "Every synchronization was needed where it is, or could not be shown to be needless, and no transfer "
        "was found that could be spared.");
  }

  void findings() {
    if (outline_.findings.empty()) return nothing_found();
    std::string title = counted(report_.problems.size(), "problem");
    if (outline_.findings.size() < report_.problems.size())
      title += " in " + counted(outline_.findings.size(), "finding");
    section(title, "by expected benefit, in time and % of the run time");
    size_t shown = std::min(limit_, outline_.findings.size());
    for (size_t i = 0; i < shown; ++i) finding(i + 1, outline_.findings[i]);
    if (shown < outline_.findings.size()) {
      line();
      line(counted(outline_.findings.size() - shown, "more finding") + ", each of " +
           seconds_text(outline_.findings[shown].benefit_s()) + " or less.");
    }
    together();
    if (outline_.findings.size() > 1) {
      line();
      wrapped("", 0,
              "Each figure is the benefit of fixing that finding alone (model: " + report_.model +
                  "); they need not add up.");
    }
  }

  void together() {
    if (!report_.together || report_.problems.size() < 2) return;
    const ReportTogether& all = *report_.together;
    line();
    line("    " + figures(all.expected_benefit_s, all.expected_benefit_percent) + "  " +
         bold("All problems fixed together"));
    range(all.range);
  }

  std::string figures(double seconds, double percent) const {
    return benefit(fmt::format("{:>8} {:>6}", seconds_text(seconds), percent_text(percent)));
  }

  void range(const std::optional<ReportRange>& range) {
    if (!range) return;
    std::string text = seconds_text(range->low_s) + " to " + seconds_text(range->high_s);
    // Whose ends read alike is no wider than the figure's own rounding.
    if (range->reason.empty() && seconds_text(range->low_s) == seconds_text(range->high_s)) return;
    if (!range->reason.empty()) text += ": " + range->reason;
    labelled(indent_, "range", text);
  }

  void finding(size_t rank, const Finding& finding) {
    line();
    std::string number = fmt::format("{:>2}.", rank);
    if (!finding.group) return problem(number, *finding.problems.front());
    const ReportGroup& group = *finding.group;
    std::string what = group.title;
    line(number + " " + figures(group.expected_benefit_s, group.expected_benefit_percent) + "  " +
         bold(what) + faint("  " + group.id));
    range(group.range);
    std::string parts;
    if (group.synchronization_issues) parts = counted(group.synchronization_issues, "synchronization");
    if (group.transfer_issues)
      parts += (parts.empty() ? "" : ", ") + counted(group.transfer_issues, "transfer");
    labelled(indent_, "problems", parts.empty() ? count_text(finding.problems.size()) : parts);
    // What holds for all of them is said once.
    const ReportProblem& first = *finding.problems.front();
    auto all = [&](auto holds) {
      return std::all_of(finding.problems.begin(), finding.problems.end(), holds);
    };
    bool one_fix = all([&](const ReportProblem* problem) { return problem->fix == first.fix; });
    std::vector<std::string> shared;
    for (const std::string& condition : first.conditions) {
      bool everywhere = all([&](const ReportProblem* problem) {
        auto& theirs = problem->conditions;
        return std::find(theirs.begin(), theirs.end(), condition) != theirs.end();
      });
      if (!everywhere) continue;
      shared.push_back(condition);
      labelled(indent_, "note", condition);
    }
    if (one_fix && !first.fix.empty()) labelled(indent_, "fix", first.fix);
    size_t shown = finding.problems.size();
    shown = std::min(shown, group_limit());
    for (size_t i = 0; i < shown; ++i) {
      line();
      problem("   ", *finding.problems[i], !one_fix, shared);
    }
    if (shown < finding.problems.size()) {
      line();
      std::string rest = "and " + counted(finding.problems.size() - shown, "more problem") + ":";
      for (size_t i = shown; i < finding.problems.size(); ++i) rest += " " + finding.problems[i]->id;
      wrapped(std::string(indent_, ' '), indent_, rest);
    }
  }

  // Places, each on a line of its own under one label.
  void places(const std::string& label, const std::string& before,
              const std::vector<const ReportFrame*>& frames) {
    std::string shown_label = label, lead = before;
    size_t column = indent_ + kLabel;
    for (const ReportFrame* frame : frames) {
      if (!frame) {
        line(std::string(column, ' ') + "...");
        continue;
      }
      size_t room = width_ - std::min<size_t>(width_ - 20, column + lead.size());
      line(std::string(indent_, ' ') + faint(fmt::format("{:<{}}", shown_label, kLabel)) + lead +
           place_text(*frame, options_.working_folder, room));
      shown_label.clear();
      lead.clear();
    }
  }

  void problem(const std::string& number, const ReportProblem& problem, bool with_fix = true,
               const std::vector<std::string>& said = {}) {
    std::string call = problem.api.empty() ? problem.operation : problem.api + " (" + problem.operation + ")";
    line(number + " " + figures(problem.expected_benefit_s, problem.expected_benefit_percent) + "  " +
         bold(kind_text(problem.kind)) + faint("  " + problem.id));
    range(problem.range);
    line(std::string(indent_, ' ') + faint(fmt::format("{:<{}}", "call", kLabel)) + bold(call));
    places("at", "", telling_frames(problem.stack, kFrames, options_.working_folder));
    std::string count = counted(problem.count, "time");
    if (problem.instances > problem.count)
      count = count_text(problem.count) + " of " + counted(problem.instances, "call");
    count +=
        ", " + seconds_text(problem.waited_s) + " waited of " + seconds_text(problem.call_s) + " in the call";
    if (problem.bytes) count += ", " + bytes_text(problem.bytes);
    labelled(indent_, "happens", count);
    if (problem.first_use) {
      std::string after = seconds_text(problem.first_use->after_s) + " later";
      auto frames = telling_frames(problem.first_use->stack, 1, options_.working_folder);
      if (frames.empty())
        labelled(indent_, "first use", after);
      else
        places("first use", after + ", " + (frames[0]->file.empty() ? "" : "at "), frames);
    }
    if (!problem.duplicate_of.empty())
      places(problem.kind == "round-trip-transfer" ? "brought by" : "same as", "",
             telling_frames(problem.duplicate_of, 2, options_.working_folder));
    if (!problem.lost_at.empty())
      places("lost at", "", telling_frames(problem.lost_at, 2, options_.working_folder));
    for (const std::string& condition : problem.conditions)
      if (std::find(said.begin(), said.end(), condition) == said.end()) labelled(indent_, "note", condition);
    if (with_fix && !problem.fix.empty()) labelled(indent_, "fix", problem.fix);
  }

  void sequences() {
    if (outline_.sequences.empty()) return;
    line();
    section("Sequences", "problems in a row, fixed together");
    size_t shown = std::min(limit_, outline_.sequences.size());
    for (size_t i = 0; i < shown; ++i) {
      const ReportGroup& group = *outline_.sequences[i];
      line();
      wrapped("    " + figures(group.expected_benefit_s, group.expected_benefit_percent) + "  ", kFigures,
              group.title + "  " + group.id);
      range(group.range);
      std::string members;
      for (const std::string& member : group.members) members += " " + member;
      labelled(indent_, "members", members);
    }
  }

  // SC'19, Table 2: what a profiler would show, beside what could be gained.
  void functions() {
    if (report_.functions.empty()) return;
    std::vector<const ReportFunction*> rows;
    for (const ReportFunction& function : report_.functions) rows.push_back(&function);
    std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->call_s > b->call_s; });
    std::vector<const ReportFunction*> by_benefit = rows;
    std::stable_sort(by_benefit.begin(), by_benefit.end(),
                     [](auto* a, auto* b) { return a->expected_benefit_s > b->expected_benefit_s; });
    size_t shown = std::min(limit_, rows.size());
    size_t name = 8;
    for (size_t i = 0; i < shown; ++i) name = std::max(name, rows[i]->operation.size());
    line();
    section("Time in driver calls", "as a profiler shows it, beside what could be gained");
    line();
    bool with_waits = name + 70 <= static_cast<size_t>(width_);
    auto waits = [&](const std::string& text) { return with_waits ? fmt::format(" {:>10}", text) : ""; };
    line(faint(fmt::format("{:>2}  {:<{}} {:>10} {:>17}{} {:>19} {:>5}", "", "function", name, "calls",
                           "time in call", waits("waited"), "expected benefit", "rank")));
    for (size_t i = 0; i < shown; ++i) {
      const ReportFunction& row = *rows[i];
      double percent = report_.runtime_s > 0 ? 100 / report_.runtime_s : 0;
      bool gains = row.expected_benefit_s > 0;
      size_t rank = std::find(by_benefit.begin(), by_benefit.end(), &row) - by_benefit.begin() + 1;
      std::string gain = gains ? fmt::format("{:>11} {:>7}", seconds_text(row.expected_benefit_s),
                                             percent_text(row.expected_benefit_s * percent))
                               : "-";
      line(fmt::format("{:>2}  {:<{}} {:>10} {:>9} {:>7}{} {:>19} {:>5}", i + 1, row.operation, name,
                       count_text(row.count), seconds_text(row.call_s), percent_text(row.call_s * percent),
                       waits(seconds_text(row.waited_s)), gain, gains ? std::to_string(rank) : "-"));
    }
    if (shown < rows.size()) line("    " + counted(rows.size() - shown, "more function"));
  }

  void notices() {
    if (report_.notices.empty()) return;
    line();
    section("Notices");
    for (const std::string& notice : report_.notices) wrapped("  - ", 4, notice);
  }

  size_t group_limit() const { return limit_ <= kShort ? std::min(kProblemsOfGroup, limit_) : limit_; }

  void next() {
    line();
    std::string session = options_.session.empty() ? "" : " " + quoted(options_.session);
    size_t all = outline_.findings.size();  // what --top must be to show everything
    bool cut = all > limit_;
    for (const Finding& finding : outline_.findings) {
      all = std::max(all, finding.problems.size());
      cut = cut || finding.problems.size() > group_limit();
    }
    if (cut)
      line("Next: diogenes report" + session + fmt::format(" --top {}", std::max(all, kShort + 1)));
    else
      line("Next: diogenes export" + session + " --format json -o report.json");
  }

  const Report& report_;
  const TextOptions& options_;
  int width_;
  size_t indent_;  // of what is said of a finding: under its words where there is room
  size_t limit_;
  Outline outline_;
  std::string text_;
};

}  // namespace

std::string to_text(const Report& report, const TextOptions& options) {
  return Writer(report, options).write();
}

}  // namespace diogenes
