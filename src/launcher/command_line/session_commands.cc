#include "launcher/command_line/commands.h"
#include "launcher/command_line/option_checks.h"

namespace diogenes::launcher {

void add_start(CLI::App& app, StartOptions& options) {
  CLI::App* start = app.add_subcommand("start", "Record a running program for a while, and print the report");
  start->formatter(with_usage("diogenes start [SESSION] [OPTIONS]"));
  start->footer(
      "For a program that `diogenes profile --wait` (or --delay) began, in another terminal; as often as you like.\n"
      "Each time is a window of its own: `diogenes report --window N` shows it again. Ctrl-C ends it sooner.\n\n"
      "Examples:\n  diogenes start\n  diogenes start server.1.diogenes --duration 5");
  start->add_option("SESSION", options.session, "Session folder (default: the newest in this folder)")
      ->type_name("");
  start->add_option("--duration", options.duration_s, "Record for so long (default: 20)")
      ->type_name("SECONDS")
      ->check(kPositive);
  start->add_option("--top", options.top, "Kernels to print (default: 10)")->type_name("N")->check(kPositive);
}

void add_stop(CLI::App& app, StartOptions& options) {
  CLI::App* stop = app.add_subcommand("stop", "End the recording that is under way in a running program");
  stop->formatter(with_usage("diogenes stop [SESSION]"));
  stop->footer("Whoever began it prints its report then; the program goes on.\n\nExamples:\n  diogenes stop");
  stop->add_option("SESSION", options.session, "Session folder (default: the newest in this folder)")
      ->type_name("");
}

void add_report(CLI::App& app, ReportOptions& options) {
  CLI::App* report = app.add_subcommand("report", "Print the report of a session again");
  report->formatter(with_usage("diogenes report [SESSION] [OPTIONS]"));
  report->footer(
      "Examples:\n  diogenes report\n  diogenes report als.2.diogenes --top 3\n  diogenes report --details P1\n"
      "  diogenes report --sequences --subsequence G3:2-5\n"
      "  diogenes report --kernels\n"
      "  diogenes report --tree bottom-up --sort waited --columns waited,gpu,count");
  report->add_option("SESSION", options.session, "Session folder (default: the newest in this folder)")
      ->type_name("");
  report
      ->add_option("--top", options.top,
                   "Problems, kernels, or rows of each level of the tree to print (default: 10)")
      ->type_name("N")
      ->check(kPositive);
  add_model(report, options.model);
  add_owners(report, options.own, options.library);
  report
      ->add_option("--subsequence", options.subsequences,
                   "Estimate a part of a sequence too: G3:2-5 is entries 2 to 5 of sequence G3")
      ->type_name("GROUP:FIRST-LAST")
      ->allow_extra_args(false);
  report
      ->add_option("--details", options.details,
                   "Show one finding or kernel (P1, G2, R1, K1) or all with everything that is known")
      ->type_name("ID|all");
  report
      ->add_option("--kind", options.kind,
                   "Show findings of one kind only, as the report names it ('needless wait', ...)")
      ->type_name("KIND")
      ->transform(kKind);
  report->add_option("--rank", options.rank, "Show what occurs in this rank of the job only")->type_name("N");
  report
      ->add_option("--process", options.process,
                   "Show what occurs in this process only (its id in the tracing run)")
      ->type_name("PID");
  report
      ->add_option("--window", options.window,
                   "Of a profile that was recorded in windows: show the N-th (default: the last)")
      ->type_name("N")
      ->check(kPositive);
  report
      ->add_option("--sort", options.sort,
                   "Order of the findings: benefit (default), count, waited or bytes; with --tree: a column")
      ->type_name("benefit|count|waited|bytes|time|cpu|driver|gpu|recoverable|gain|importance");
  report->add_flag("--sequences", options.sequences, "Show problems that follow each other, fixed together");
  report->add_flag("--profile", options.profile,
                   "Show the time by driver function, beside what can be saved");
  report->add_flag(
      "--kernels", options.kernels,
      "Show kernels and other GPU work: what each takes, and what the run gains if it is faster");
  report
      ->add_option_function<std::string>(
          "--tree", [&options](const std::string& view) { options.tree = view.empty() ? "top-down" : view; },
          "Show where CPU and GPU time goes: top-down from the callers (default), bottom-up from what takes it, or flat")
      ->type_name("top-down|bottom-up|flat")
      ->expected(0, 1);
  report
      ->add_option("--columns", options.columns,
                   "Columns of the tree: time,cpu,driver,waited,gpu,recoverable,gain,count,importance")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(kTreeColumn);
  report
      ->add_option("--depth", options.depth,
                   "Levels of the tree to print (default: what takes most time, in 60 lines)")
      ->type_name("N")
      ->check(kPositive);
  report->add_option("--format", options.format, "text (default) or json")
      ->type_name("text|json")
      ->check(CLI::IsMember({"text", "json"}).description(""));
  report
      ->add_option(
          "--threshold", options.threshold_percent,
          "Least gain of what is listed, in percent of the time in which the GPU is used (default: the session's); "
          "explicit needless synchronizations are always listed")
      ->type_name("PERCENT")
      ->check(kPercent);
}

void add_explore(CLI::App& app, ExploreOptions& options) {
  CLI::App* command = app.add_subcommand("explore", "Walk through the report of a session in the terminal");
  command->formatter(with_usage("diogenes explore [SESSION] [OPTIONS]"));
  command->footer(
      "Arrow keys and Enter move through it, / searches, ? shows all keys, q quits.\n\nExamples:\n"
      "  diogenes explore\n  diogenes explore als.2.diogenes");
  command->add_option("SESSION", options.session, "Session folder (default: the newest in this folder)")
      ->type_name("");
  add_model(command, options.model);
  add_owners(command, options.own, options.library);
  command
      ->add_option(
          "--threshold", options.threshold_percent,
          "Least gain of what is listed, in percent of the time in which the GPU is used (default: the session's); "
          "explicit needless synchronizations are always listed")
      ->type_name("PERCENT")
      ->check(kPercent);
}

void add_export(CLI::App& app, ExportOptions& options) {
  CLI::App* command = app.add_subcommand("export", "Write the report of a session for other programs");
  command->formatter(with_usage("diogenes export [SESSION] [OPTIONS]"));
  command->footer(
      "Formats:\n"
      "  json            everything, schema diogenes-report/2 (default)\n"
      "  html            one page that needs no network: findings, kernels, where time goes, timeline\n"
      "  csv             one row for each problem, for spreadsheets\n"
      "  kernels-csv     one row for each kernel\n"
      "  markdown        for the comment of a pull request\n"
      "  sarif           SARIF 2.1.0, for code scanning and editors\n"
      "  perfetto        the timeline, for ui.perfetto.dev\n"
      "  collapsed       stacks with the microseconds that can be saved, for flame-graph tools\n"
      "  collapsed-time  stacks with the microseconds of CPU and GPU time\n"
      "  speedscope      CPU and GPU time by calling context, for speedscope.app\n"
      "  pprof           the same as profile.proto, for pprof\n"
      "Examples:\n  diogenes export --format html -o report.html\n"
      "  diogenes export --format json | jq '.problems[0]'\n"
      "  diogenes export als.1.diogenes --format sarif -o als.sarif");
  add_model(command, options.model);
  add_owners(command, options.own, options.library);
  command->add_option("SESSION", options.session, "Session folder (default: the newest in this folder)")
      ->type_name("");
  command->add_option("--format", options.format, "What to write (default: json)")
      ->type_name(
          "json|html|csv|kernels-csv|markdown|sarif|perfetto|collapsed|collapsed-time|speedscope|pprof")
      ->check(CLI::IsMember({"json", "html", "csv", "kernels-csv", "markdown", "sarif", "perfetto",
                             "collapsed", "collapsed-time", "speedscope", "pprof"})
                  .description(""));
  command->add_option("-o", options.file, "File to write; - is stdout (default)")->type_name("FILE");
  command->add_flag("--force", options.force, "Overwrite FILE");
}

void add_diff(CLI::App& app, DiffOptions& options) {
  CLI::App* command = app.add_subcommand("diff", "What a change brought: what is gone, new, better, worse");
  command->formatter(with_usage("diogenes diff OLD NEW [OPTIONS]"));
  command->footer(
      "The expected benefit of what is gone stands beside the change of the run time.\n\nExamples:\n"
      "  diogenes diff als.1.diogenes als.2.diogenes");
  command->add_option("OLD", options.before, "The session before the change")->type_name("")->required();
  command->add_option("NEW", options.now, "The session after it")->type_name("")->required();
  command->add_option("--top", options.top, "Problems to print (default: 20)")
      ->type_name("N")
      ->check(kPositive);
  add_model(command, options.model);
  add_owners(command, options.own, options.library);
}

void add_gate(CLI::App& app, GateOptions& options) {
  CLI::App* command = app.add_subcommand("gate", "Fail if more can be saved than the project allows");
  command->formatter(with_usage("diogenes gate [SESSION] [OPTIONS]"));
  command->footer(
      "What counts is the lower end of the range of all findings together.\n"
      "Exit status: 0 not above, 1 above, 3 the session is not complete, so this is not known.\n\nExamples:\n"
      "  diogenes gate --fail-above 2 --allow diogenes.allow\n"
      "A line of the file: a finding's source key (gate prints it), and why it may stay.");
  command->add_option("SESSION", options.session, "Session folder (default: the newest in this folder)")
      ->type_name("");
  const CLI::Validator without_sign(
      [](std::string& text) {
        if (text.ends_with('%')) text.pop_back();
        return std::string();
      },
      "");
  command
      ->add_option("--fail-above", options.fail_above_percent,
                   "Fail if more than this can be saved, in percent of the run time (default: 2)")
      ->type_name("PERCENT")
      ->transform(without_sign)
      ->check(kPercent);
  command->add_option("--allow", options.allow, "File of findings that may stay, each with a reason")
      ->type_name("FILE");
  add_model(command, options.model);
  add_owners(command, options.own, options.library);
}

}  // namespace diogenes::launcher
