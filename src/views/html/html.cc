#include "views/html/html.h"

#include <fmt/format.h>

#include "views/html/html_parts.h"
#include "views/shared/figures.h"
#include "views/shared/idle.h"
#include "views/shared/occurrences.h"
#include "views/shared/phrases.h"
#include "views/shared/proof_text.h"
#include "views/text/gpu_work.h"

// The page's script and style, as web/build.mjs bundled them; in the program itself (web_bundle.S).
extern "C" {
extern const char diogenes_page_script[], diogenes_page_script_end[];
extern const char diogenes_page_style[], diogenes_page_style_end[];
}

namespace diogenes {
namespace {

std::string_view page_script() {
  return {diogenes_page_script, static_cast<size_t>(diogenes_page_script_end - diogenes_page_script)};
}

std::string_view page_style() {
  return {diogenes_page_style, static_cast<size_t>(diogenes_page_style_end - diogenes_page_style)};
}

std::string head(const Report& report, const Outline& outline) {
  const std::string name = program_name(report.command);
  std::string text = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  text +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n";
  text += "<title>" + html(name + ": " + headline(report, outline)) + "</title>\n<style>\n";
  text += page_style();
  return text + "</style>\n</head>\n";
}

std::string state_html(const Report& report) {
  const std::string runs = counted(report.stages.size(), "run");
  return report.incomplete.empty() ? "<span class=\"state complete\">" + runs + ", complete</span>"
                                   : "<span class=\"state partial\">" + runs + ", not complete</span>";
}

bool has_timeline(const Report& report) { return report.timeline && !report.timeline->lanes.empty(); }

// Links to the sections that there are.
std::string navigation(const Report& report, const Outline& outline) {
  std::string text = "<nav aria-label=\"Sections\">";
  auto link = [&](const char* id, const char* name) {
    text += fmt::format("<a href=\"#{}\">{}</a>", id, name);
  };
  link("findings", "Findings");
  if (report.profile) link("kernels", gpu_work_title(*report.profile).c_str());
  if (report.profile && idle_is_worth_a_word(*report.profile)) link("idle", "Why the GPU is idle");
  if (report.profile) link("contexts", "Where time goes");
  if (has_timeline(report)) link("timeline", "Timeline");
  if (!outline.findings.empty()) link("recoverable", "Flame graph");
  if (!report.required.empty()) link("needed", required_title(report.required).c_str());
  if (has_groups(report)) link("groups", "Groups");
  link("measurement", "The measurement");
  return text + "<button type=\"button\" id=\"theme\" hidden>Dark</button></nav>\n";
}

std::string top(const Report& report, const Outline& outline, const Reader& reader) {
  std::string text = "<header><div>\n<h1>" + html(program_name(report.command)) + " &middot; Diogenes " +
                     state_html(report) + "</h1>\n";
  if (const auto warnings = proof_warnings(report, reader.folder); !warnings.empty()) {
    text += "<div class=\"warning\" role=\"note\"><ul>\n";
    for (const std::string& sentence : warnings) text += "<li>" + html(sentence) + "</li>\n";
    text += "</ul></div>\n";
  }
  text += "<p class=\"headline\">" + html(headline(report, outline)) + "</p>\n";
  text += "<p class=\"about\">" + html(about_text(report)) + "</p>\n";
  if (const std::string proved = proof_of_all(report); !proved.empty())
    text += "<p class=\"about\">Proved: " + html(proved) + ".</p>\n";
  return text + navigation(report, outline) + "</div></header>\n";
}

std::string incomplete(const Report& report) {
  if (report.incomplete.empty()) return "";
  std::string text =
      "<div class=\"warning\" role=\"note\"><p>Not everything was measured; what is missing was not judged:</p><ul>\n";
  for (const std::string& sentence : report.incomplete) text += "<li>" + html(sentence) + "</li>\n";
  return text + "</ul></div>\n";
}

std::string timeline_html(const Report& report) {
  if (!has_timeline(report)) return "";
  const ReportTimeline& timeline = *report.timeline;
  std::string text =
      "<section id=\"timeline\"><h2>Timeline</h2>\n<p>Threads of the CPU and streams of the GPU";
  text += report.judged ? ", from the tracing run. The strip below a thread marks what can be saved. " : ". ";
  if (timeline.gpu_times)
    text += fmt::format(
        "{}ach piece of GPU work is drawn with its measured length, after the call that launched it and the work before "
        "it in its stream. ",
        report.judged ? "GPU work was timed in another run: e" : "E");
  else
    text += "How long GPU work took was not measured, so there are no streams. ";
  if (timeline.merged > 0)
    text += fmt::format(
        "Of {} events, {} that are shorter than {} are drawn together with their neighbours, separately for each finding. ",
        count_text(timeline.events), count_text(timeline.merged), seconds_text(timeline.merged_below_s));
  if (!timeline.full_at_s.empty())
    text += fmt::format("In {} parts of {} each, which are shaded, every event is drawn by itself.",
                        count_text(timeline.full_at_s.size()), seconds_text(timeline.full_length_s));
  text +=
      "</p>\n<p class=\"without-script nothing\">The timeline needs scripts; everything else on this page does not.</p>\n"
      "<div class=\"tools needs-script\"><button type=\"button\" id=\"zoom-in\">Zoom in</button>"
      "<button type=\"button\" id=\"zoom-out\">Zoom out</button><button type=\"button\" id=\"zoom-all\">All</button>"
      "<button type=\"button\" id=\"previous-problem\">Previous problem</button>"
      "<button type=\"button\" id=\"next-problem\">Next problem</button></div>\n"
      "<div class=\"drawing needs-script\"><div id=\"timeline-view\"></div>"
      "<div id=\"timeline-tip\" role=\"tooltip\" hidden></div></div>\n"
      "<p class=\"status\" id=\"timeline-status\" role=\"status\"></p>\n"
      "<ul class=\"legend needs-script\"><li style=\"--color:var(--problem)\">problem: can be saved</li><li "
      "style=\"--color:var(--needed)\">needed wait that costs much</li><li style=\"--color:var(--wait)\">other call that "
      "waits</li><li style=\"--color:var(--call)\">call</li><li style=\"--color:var(--kernel)\">kernel</li><li "
      "style=\"--color:var(--copy)\">copy</li></ul>\n"
      "<p class=\"status needs-script\" id=\"timeline-keys\">Drag to move; <kbd>Ctrl</kbd> and the wheel, or <kbd>+</kbd> "
      "<kbd>-</kbd>, to zoom; <kbd>&larr;</kbd> <kbd>&rarr;</kbd> move, <kbd>n</kbd> <kbd>p</kbd> next and previous "
      "problem, <kbd>Enter</kbd> goes to the finding, <kbd>0</kbd> shows all.</p></section>\n";
  return text;
}

std::string flame_html(const Outline& outline) {
  if (outline.findings.empty()) return "";
  return "<section id=\"recoverable\"><h2>Flame graph of what can be saved</h2>\n<p>Call stacks, from the outermost "
         "function in; each is as wide as what fixing its place alone saves.</p>\n"
         "<p class=\"without-script nothing\">The flame graph needs scripts; everything else on this page does not.</p>\n"
         "<div class=\"tools needs-script\"><button type=\"button\" id=\"flame-reset\">Show all</button>"
         "<span class=\"status\">Click a frame, or reach it with the arrow keys and press <kbd>Enter</kbd>, to see it "
         "alone.</span></div>\n"
         "<div class=\"drawing needs-script\"><div class=\"flame-view\" id=\"flame-view\"></div></div>\n"
         "<p class=\"status\" id=\"flame-status\" role=\"status\"></p></section>\n";
}

std::string functions_html(const Report& report) {
  if (report.functions.empty()) return "";
  std::string text =
      "<h3>Time by driver function</h3>\n<div class=\"scroll\"><table><thead><tr><th>function</th><th "
      "class=\"number\">calls</th><th class=\"number\">time in call</th><th class=\"number\">waited</th><th "
      "class=\"number\">can be saved</th></tr></thead><tbody>\n";
  for (const ReportFunction& function : report.functions)
    text += fmt::format(
        "<tr><td><code>{}</code></td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
        html(function.operation), count_text(function.count), seconds_text(function.call_s),
        seconds_text(function.waited_s), seconds_text(function.expected_benefit_s));
  return text + "</tbody></table></div>\n";
}

// Of several processes: a row for each, with how many calls of findings and of needed waits are made there.
std::string processes_html(const Report& report) {
  if (report.processes.size() < 2) return "";
  std::string text =
      "<h3>Processes</h3>\n<div class=\"scroll\"><table><thead><tr><th>rank</th><th>program</th><th>host</th>"
      "<th class=\"number\">process</th><th class=\"number\">calls of findings</th><th class=\"number\">needed waits that "
      "cost much</th></tr></thead><tbody>\n";
  for (const ReportProcess& process : report.processes) {
    const ProcessChoice choice{std::nullopt, process.pid};
    uint64_t calls = 0, waits = 0;
    for (const ReportProblem& problem : report.problems)
      calls += count_in(report.processes, problem.occurrences, choice);
    for (const ReportRequired& required : report.required)
      waits += count_in(report.processes, required.occurrences, choice);
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td></tr>\n",
        process.rank ? std::to_string(*process.rank) : "-", html(process.executable), html(process.host),
        process.pid, count_text(calls), count_text(waits));
  }
  return text + "</tbody></table></div>\n";
}

std::string measurement_html(const Report& report) {
  std::string text = "<section id=\"measurement\"><h2>The measurement</h2>\n";
  if (!report.notices.empty()) {
    text += "<ul>\n";
    for (const ReportNotice& notice : report.notices) text += "<li>" + html(notice.text) + "</li>\n";
    text += "</ul>\n";
  }
  text += "<dl>";
  auto item = [&](const char* label, const std::string& content) {
    if (!content.empty()) text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", label, content);
  };
  std::string command;
  for (const std::string& argument : report.command)
    command += (command.empty() ? "" : " ") + quoted(argument);
  item("command", "<code>" + html(command) + "</code>");
  item("started", html(report.started));
  item("judged", fmt::format("{} of {}", count_text(report.coverage.judged),
                             counted(report.coverage.synchronizations, "synchronization")));
  for (const auto& [reason, count] : report.coverage.not_judged)
    item("not judged", fmt::format("{}: {}", count_text(count), html(not_judged_phrase(reason))));
  std::string runs;
  for (const ReportStage& stage : report.stages)
    runs += fmt::format("{}{} {} ({})", runs.empty() ? "" : ", ", html(stage.name),
                        seconds_text(stage.runtime_s), overhead_text(stage.overhead));
  item("runs", runs);
  item("driver", html(report.driver_path + " " + report.driver_build_id));
  return text + "</dl>\n" + processes_html(report) + functions_html(report) + "</section>\n";
}

std::string script_html(const Report& report, const Outline& outline, const Reader& reader) {
  std::string text = "<script type=\"application/json\" id=\"data\">" + html_data(report, outline, reader) +
                     "</script>\n<script>\n";
  text += page_script();
  return text + "</script>\n";
}

}  // namespace

std::string to_html(const Report& report, const Reader& reader) {
  const Outline all = outline(report);
  std::string text =
      head(report, all) + "<body>\n" + top(report, all, reader) + "<main>\n" + incomplete(report);
  text += findings_html(report, all, reader) + gpu_work_html(report, reader) + idle_html(report) +
          contexts_html(report);
  text += timeline_html(report) + flame_html(all);
  text += required_html(report, reader) + groups_html(report, all) + measurement_html(report);
  const std::string session = reader.session.empty() ? "" : " " + quoted(reader.session);
  text += fmt::format(
      "</main>\n<footer>Diogenes {}. <code>diogenes report{} --details all</code> has the same as text.</footer>\n",
      html(report.tool_version), html(session));
  return text + script_html(report, all, reader) + "</body>\n</html>\n";
}

}  // namespace diogenes
