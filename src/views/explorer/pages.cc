#include "views/explorer/pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/explorer/text_view.h"
#include "views/shared/figures.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"
#include "views/shared/proof_text.h"
#include "views/text/gpu_work.h"
#include "views/text/page.h"
#include "views/text/problem_text.h"
#include "views/text/profile_table.h"
#include "views/text/tree_text.h"

namespace diogenes::explorer {
namespace {

constexpr int kNarrowest = 24;  // narrower lines are broken wherever they end

Page page_of(size_t columns) { return {static_cast<int>(columns), true, kNarrowest}; }

// Without the empty lines at the top.
std::vector<Line> laid_out(const Page& page, size_t columns) {
  std::vector<Line> lines = lines_of(page.text(), columns);
  const auto first =
      std::find_if(lines.begin(), lines.end(), [](const Line& line) { return !line.spans.empty(); });
  lines.erase(lines.begin(), first);
  return lines;
}

// All frames; those of libraries and the runtime are faint.
void whole_stack(Page& page, const std::string& title, const std::vector<ReportFrame>& stack,
                 const std::string& folder) {
  if (stack.empty()) return;
  page.line();
  page.line(page.bold(title));
  for (size_t i = 0; i < stack.size(); ++i) {
    const std::string place =
        place_text(stack[i], folder, page.width() - std::min<size_t>(page.width() / 2, 8));
    const std::string line = fmt::format("{:>4}  {}", i, place);
    page.line(stack[i].owner == FrameOwner::application ? line : page.faint(line));
  }
}

void stacks(Page& page, const ReportProblem& problem, const std::string& folder) {
  whole_stack(page, "Stack, innermost first", problem.stack, folder);
  if (problem.first_use) whole_stack(page, "First use", problem.first_use->stack, folder);
  whole_stack(page,
              problem.kind == "round-trip-transfer" ? "The data came from" : "The same data was sent by",
              problem.duplicate_of, folder);
  whole_stack(page, "What overwrote or released the data", problem.lost_at, folder);
}

void labels(Page& page, const std::string& label, const std::string& text) {
  if (!text.empty()) page.labelled(0, label, text);
}

std::vector<Line> session_page(const Context& context, size_t columns) {
  const Report& report = context.report;
  Page page = page_of(columns);
  std::string command;
  for (const std::string& argument : report.command)
    command += (command.empty() ? "" : " ") + quoted(argument);
  labels(page, "command", command);
  if (!context.folder.empty()) labels(page, "files", "relative to " + context.folder);
  labels(page, "started", report.started);
  labels(page, "GPU", report.device_name.empty() ? "unknown" : report.device_name);
  labels(page, "driver",
         (report.driver_version + " " + report.driver_path + (report.simulated ? " (simulated)" : "")));
  labels(page, "time",
         "run " + seconds_text(report.runtime_s) +
             (report.gpu_in_use_s > 0 ? ", GPU in use for " + seconds_text(report.gpu_in_use_s) : ""));
  labels(page, "did",
         counted(report.synchronizations, "synchronization") + ", waited " + seconds_text(report.waited_s) +
             "; " + counted(report.transfers, "transfer") + " of " + bytes_text(report.transferred_bytes));
  labels(page, "model", report.model);
  page.line();
  page.line(page.bold("Runs"));
  for (const ReportStage& stage : report.stages)
    page.line(fmt::format("  {:<16} {:>9}  {:>7} plain runs", stage.name, seconds_text(stage.runtime_s),
                          fmt::format("{:.2f}", stage.overhead)));
  const ReportCoverage& coverage = report.coverage;
  page.line();
  page.wrapped("", 0,
               fmt::format("{} of {} could be judged.", count_text(coverage.judged),
                           counted(coverage.synchronizations, "synchronization")));
  const std::vector<std::string> warnings = proof_warnings(report, context.folder);
  const std::string proved = proof_of_all(report);
  if (report.proof && (!warnings.empty() || !proved.empty())) {
    page.line();
    page.line(page.bold("Proved"));
    for (const std::string& sentence : warnings) page.wrapped("  - ", 4, sentence);
    if (!proved.empty()) page.wrapped("  - ", 4, proved);
  }
  if (!report.incomplete.empty()) {
    page.line();
    page.line(page.warning("Not everything was measured; what is missing was not judged"));
    for (const std::string& sentence : report.incomplete) page.wrapped("  - ", 4, sentence);
  }
  if (!report.notices.empty()) {
    page.line();
    page.line(page.bold("Notices"));
    for (const ReportNotice& notice : report.notices) page.wrapped("  - ", 4, notice.text);
  }
  return laid_out(page, columns);
}

struct HelpLine {
  const char *keys, *what;
};
constexpr HelpLine kHelp[] = {
    {"", "Everywhere"},
    {"Up Down, k j", "move, or scroll"},
    {"PgUp PgDn", "a page up or down; Home, End: the first, the last"},
    {"Enter", "open what is chosen; groups: unfold or fold"},
    {"Esc, Left", "back; q: back, and in a list quit; Q: quit"},
    {"Tab, 1 to 7", "the next list; that list"},
    {"/", "search: words of any row, also in what is folded; capital letters count if there are any"},
    {"n N", "the next match of the search, the one before"},
    {"?", "this page"},
    {"", "Findings"},
    {"Right Left", "unfold, fold"},
    {"d", "all that is known of a group or problem"},
    {"g", "group by finding, by the function that is called, or not at all"},
    {"o", "sort by benefit, calls, time waited, bytes"},
    {"f F", "show only one kind of problem: the next kind, the one before"},
    {"", "A sequence: problems in a row that can be fixed together"},
    {"s e", "start, end the part to fix at the chosen place; what it saves is shown above"},
    {"a", "all of it again"},
    {"", "The tree: where time goes, on the CPU and on the GPU"},
    {"v", "top-down, bottom-up (callers below), flat"},
    {"o", "sort by another column"},
    {"p",
     "unfold the hot path: down from here, while a row has half of the one above; that of the largest row is bold"},
    {"d", "all that is known of the row, or of its kernel"},
    {"", "What the figures say"},
    {"saves", "what fixing this alone saves; two fixes may save the same time, so figures need not add up"},
    {"up to", "of a needed wait: what is saved if the CPU never had to wait there"},
    {"gains", "of a kernel: what the run gains if it takes half as long; hidden: nothing"},
    {"[a to b]", "the uncertainty of the estimate"},
};

std::vector<Line> help_page(size_t columns) {
  Page page = page_of(columns);
  constexpr size_t kKeys = 15;
  for (const HelpLine& line : kHelp) {
    if (!*line.keys) {
      page.line();
      page.line(page.bold(line.what));
    } else {
      page.wrapped(page.faint(fmt::format("  {:<{}}", line.keys, kKeys - 2)), kKeys, line.what);
    }
  }
  return laid_out(page, columns);
}

}  // namespace

std::vector<Line> finding_page(const Context& context, const Finding& finding, size_t columns, bool whole) {
  Page page = page_of(columns);
  const ProblemTextOptions options{context.folder, whole, &context.report.processes};
  if (finding.problems.size() == 1) {
    problem_details(page, *finding.problems.front(), options);
    if (whole) stacks(page, *finding.problems.front(), context.folder);
  } else {
    finding_details(page, 0, finding, options);
  }
  return laid_out(page, columns);
}

std::vector<Line> required_page(const Context& context, const ReportRequired& required, size_t columns,
                                bool whole) {
  Page page = page_of(columns);
  required_details(page, required, {context.folder, whole, &context.report.processes});
  if (whole) {
    whole_stack(page, "Stack, innermost first", required.stack, context.folder);
    if (required.used_by) whole_stack(page, "First use", required.used_by->stack, context.folder);
  }
  return laid_out(page, columns);
}

std::vector<Line> work_page(const Context& context, const ReportGpuWork& work, size_t columns, bool whole) {
  Page page = page_of(columns);
  gpu_work_details(page, 0, work, {context.folder, whole, &context.report.processes});
  return laid_out(page, columns);
}

std::vector<Line> context_page(const Context& context, const ContextRows& rows, uint32_t number,
                               size_t columns) {
  Page page = page_of(columns);
  context_details(page, rows, number, context.folder);
  return laid_out(page, columns);
}

std::string problem_name(const ReportProblem& problem) { return finding_phrase({nullptr, {&problem}}); }

std::unique_ptr<View> problem_view(const Context& context, const ReportProblem& problem) {
  return finding_view(context, {nullptr, {&problem}});
}

std::unique_ptr<View> finding_view(const Context& context, const Finding& finding) {
  return std::make_unique<TextView>(
      finding.id() + " " + finding_phrase(finding),
      [&context, finding](size_t columns) { return finding_page(context, finding, columns, true); });
}

std::unique_ptr<View> required_view(const Context& context, const ReportRequired& required) {
  return std::make_unique<TextView>(
      required.id + " " + required_phrase(required) + ": " + required_kind(required),
      [&](size_t columns) { return required_page(context, required, columns, true); });
}

std::unique_ptr<View> work_view(const Context& context, const ReportGpuWork& work) {
  return std::make_unique<TextView>(work.id + " " + work.name,
                                    [&](size_t columns) { return work_page(context, work, columns, true); });
}

std::unique_ptr<View> context_view(const Context& context, const ContextRows& rows, uint32_t number) {
  return std::make_unique<TextView>(tree_name(rows, number, 60), [&context, &rows, number](size_t columns) {
    return context_page(context, rows, number, columns);
  });
}

std::unique_ptr<View> functions_view(const Context& context) {
  return std::make_unique<TextView>(
      "Functions",
      [&context](size_t columns) {
        Page page = page_of(columns);
        profile_table(page, context.report, context.report.functions.size());
        return laid_out(page, columns);
      },
      TextView::Place::list);
}

std::unique_ptr<View> session_view(const Context& context) {
  return std::make_unique<TextView>(
      "Session", [&context](size_t columns) { return session_page(context, columns); },
      TextView::Place::list);
}

std::unique_ptr<View> help_view() { return std::make_unique<TextView>("Keys", help_page); }

}  // namespace diogenes::explorer
