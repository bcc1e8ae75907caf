// diogenes: the command line. Each subcommand is a file of its own beside this one; this file only reads the
// words.
#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "launcher/command_line/build_details.h"
#include "launcher/command_line/documents.h"
#include "launcher/command_line/messages.h"
#include "launcher/command_line/option_checks.h"
#include "launcher/measuring/resume.h"
#include "launcher/options.h"

namespace diogenes::launcher {
namespace {

const std::map<std::string, DriverKind> kDrivers = {{"system", DriverKind::system},
                                                    {"simulated", DriverKind::simulated}};

// `diogenes run --top 3 -- app --top 9`: what comes after the first -- is the program's, word for word.
struct CommandLine {
  std::vector<std::string> ours, program;
};

CommandLine split(int argc, char** argv) {
  CommandLine result;
  int i = 1;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) result.ours.emplace_back(argv[i]);
  for (++i; i < argc; ++i) result.program.emplace_back(argv[i]);
  return result;
}

// Of a command line that begins with no command, CLI11 says only that there is none.
std::string what_is_wrong(const CLI::App& app, const std::string& first, const CLI::ParseError& wrong) {
  if (first.empty()) return "no command is given";
  if (!app.get_subcommands().empty()) return wrong.what();
  return first.starts_with("-") ? "there is no option " + first : "there is no command '" + first + "'";
}

// CLI11's own usage line cannot say `-- COMMAND`.
class WithUsage : public CLI::Formatter {
 public:
  explicit WithUsage(std::string usage) : usage_("Usage: " + std::move(usage) + "\n") { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override { return usage_; }

 private:
  std::string usage_;
};

void add_driver(CLI::App& command, DriverKind& kind) {
  command
      .add_option_function<std::string>(
          "--driver", [&kind](const std::string& name) { kind = kDrivers.at(name); },
          "system: this machine's CUDA driver (default); simulated: the one that comes with diogenes, needs "
          "no GPU")
      ->check(CLI::IsMember(kDrivers).description(""))
      ->type_name("system|simulated");
}

void add_model(CLI::App* command, std::string& model) {
  command->add_option("--model", model, "How the expected benefit is estimated: replay (default) or paper")
      ->type_name("replay|paper")
      ->check(CLI::IsMember({"paper", "replay"}).description(""));
}

// Both are given as full paths to what comes after.
void add_owners(CLI::App* command, std::vector<std::string>& own, std::vector<std::string>& library) {
  auto folders = [command](const char* option, const char* sentence, std::vector<std::string>& out) {
    command
        ->add_option_function<std::vector<std::string>>(
            option,
            [&out](const std::vector<std::string>& given) {
              for (const std::string& folder : given) out.push_back(full_path(folder));
            },
            sentence)
        ->type_name("DIR")
        ->allow_extra_args(false);
  };
  folders("--own", "Code from sources or libraries under DIR is yours: problems are shown there", own);
  folders("--library", "Code from sources or libraries under DIR is a library's: its callers are shown",
          library);
}

// Of both commands that run a program for the first time.
void add_session(CLI::App& command, RunOptions& options) {
  command
      .add_option("--output", options.output,
                  "Session folder (default: APP.N.diogenes, N the first that is free)")
      ->type_name("DIR");
  command.add_flag("--force", options.force, "Overwrite the session at --output and the file at --report");
  add_driver(command, options.driver);
}

void add_report_file(CLI::App& command, RunOptions& options) {
  command.add_option("--report", options.report_file, "Write the text report to FILE, not to stderr")
      ->type_name("FILE");
}

void add_trace_size(CLI::App& command, RunOptions& options) {
  command
      .add_option_function<std::string>(
          "--max-trace-size",
          [&options](const std::string& text) { options.max_trace_bytes = bytes_of(text).value_or(0); },
          "Record no more than SIZE of each process in each run (500M, 2G; default: 8G, or a quarter of what "
          "is free)")
      ->type_name("SIZE")
      ->check(kSize);
}

void add_cache(CLI::App& command, RunOptions& options) {
  command.add_flag_callback(
      "--no-cache", [&options] { options.use_cache = false; },
      "Search the driver's wait function again, even if it is known");
}

void add_profile(CLI::App& app, RunOptions& options) {
  options.profile = true;
  CLI::App* profile = app.add_subcommand("profile", "Run a program once, and say where its time goes");
  profile->formatter(std::make_shared<WithUsage>("diogenes profile [OPTIONS] -- COMMAND [ARGS...]"));
  profile->footer(
      "One run: kernels and copies by who gave them, what the run gains if a kernel is faster, and the CPU's time\n"
      "between calls. It does not say which waits and transfers were needed: `diogenes run` does.\n"
      "The report goes to stderr, everything recorded to a folder APP.N.diogenes.\n"
      "The exit status is the program's, or 124 to 127, as those of `diogenes run`.\n\n"
      "Examples:\n"
      "  diogenes profile -- ./solver --size 4096\n"
      "  diogenes profile --timeout 60 -- python3 train.py\n"
      "  diogenes profile --driver simulated -- build/bin/examples/als");
  add_session(*profile, options);
  profile->add_option("--timeout", options.timeout_s, "End the run if it takes longer (default: no limit)")
      ->type_name("SECONDS")
      ->check(kPositive);
  add_report_file(*profile, options);
  add_trace_size(*profile, options);
  add_owners(profile, options.own, options.library);
  profile->add_option("--top", options.top, "Kernels to print (default: 10)")
      ->type_name("N")
      ->check(kPositive);
  add_cache(*profile, options);
  profile->prefix_command();
}

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a program through all stages and print the report");
  run->formatter(std::make_shared<WithUsage>("diogenes run [OPTIONS] -- COMMAND [ARGS...]"));
  run->footer(
      "The program runs three times, and up to twice more where runs differ or needed waits cost much. Only its\n"
      "first run reads and writes your terminal. If the program reads what you type, no further run is made: give it\n"
      "a file. The report goes to stderr, everything recorded to a folder APP.N.diogenes.\n"
      "The exit status is the program's (128+N on signal N);\n"
      "124: --timeout, 125: diogenes failed, 126: the program cannot be executed, 127: it was not found.\n"
      "Examples:\n"
      "  diogenes run -- ./solver --size 4096\n"
      "  diogenes run --driver simulated -- build/bin/examples/als\n"
      "  diogenes run --prepare 'rm -f checkpoint.bin' --report report.txt -- python3 train.py\n"
      "  diogenes run --region train_step -- python3 train.py\n"
      "  diogenes run --output rank0.diogenes --force --timeout 600 -- mpirun -n 2 ./app\n"
      "  diogenes run --resume solver.1.diogenes");
  add_session(*run, options);
  run->add_flag("--plain-run", options.plain_run,
                "Run once without measurement before; overheads then refer to that run");
  run->add_option("--prepare", options.prepare, "Shell command to run before each run")->type_name("COMMAND");
  run->add_option("--timeout", options.timeout_s,
                  "End a run that takes longer (default: no limit for the first run)")
      ->type_name("SECONDS")
      ->check(kPositive);
  run->add_flag("--keep-going", options.keep_going,
                "Measure a program that is killed by a signal in its first run, up to there");
  add_report_file(*run, options);
  run->add_option(
         "--threshold", options.threshold_percent,
         "Least gain of what is listed, other than needless synchronizations, in percent of the time in which the GPU is used (default: 0.1)")
      ->type_name("PERCENT")
      ->check(kPercent);
  run->add_option("--gpu-times", options.gpu_times,
                  "Learn when the GPU worked: auto (default: where libcupti or the driver tells) or off")
      ->type_name("auto|off")
      ->check(CLI::IsMember({"auto", "off"}).description(""));
  run->add_option(
         "--repeat", options.repeat,
         "Trace N times: expected benefits are medians, and ranges hold what each run says (default: 1)")
      ->type_name("N")
      ->check(kPositive);
  add_trace_size(*run, options);
  run->add_option(
         "--max-overhead", options.max_overhead,
         "Stop watching memory once that run has taken about N times the baseline's run time (1.1 or "
         "more; default: 3)")
      ->type_name("N")
      ->check(kOverhead);
  run->add_flag_callback(
      "--no-follow-values", [&options] { options.follow_values = false; },
      "Where needed waits cost much, do not make the run that follows what becomes of their results");
  run->add_option("--region", options.region,
                  "Judge only what lies inside NVTX ranges of that name; percentages are of the time in them")
      ->type_name("NVTX-RANGE")
      ->check(kRangeName);
  add_model(run, options.model);
  add_owners(run, options.own, options.library);
  run->add_option("--top", options.top, "Problems to print (default: 10)")->type_name("N")->check(kPositive);
  add_cache(*run, options);
  run->add_option("--resume", options.resume,
                  "Go on with a session that was interrupted or killed; complete runs and options are kept")
      ->type_name("SESSION");
  run->prefix_command();
}

void add_report(CLI::App& app, ReportOptions& options) {
  CLI::App* report = app.add_subcommand("report", "Print the report of a session again");
  report->formatter(std::make_shared<WithUsage>("diogenes report [SESSION] [OPTIONS]"));
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
          "Show where time goes, CPU and GPU: from callers down (default), from what takes it up, or flat")
      ->type_name("top-down|bottom-up|flat")
      ->expected(0, 1);
  report
      ->add_option("--columns", options.columns,
                   "Columns of the tree: time,cpu,driver,waited,gpu,recoverable,gain,count,importance")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(kTreeColumn);
  report->add_option("--depth", options.depth, "Levels of the tree (default: what takes most, in 60 lines)")
      ->type_name("N")
      ->check(kPositive);
  report->add_option("--format", options.format, "text (default) or json")
      ->type_name("text|json")
      ->check(CLI::IsMember({"text", "json"}).description(""));
  report
      ->add_option(
          "--threshold", options.threshold_percent,
          "Least gain of what is listed, other than needless synchronizations, in percent of the time in which the GPU is used (default: the session's)")
      ->type_name("PERCENT")
      ->check(kPercent);
}

void add_explore(CLI::App& app, ExploreOptions& options) {
  CLI::App* command = app.add_subcommand("explore", "Walk through the report of a session in the terminal");
  command->formatter(std::make_shared<WithUsage>("diogenes explore [SESSION] [OPTIONS]"));
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
          "Least gain of what is listed, other than needless synchronizations, in percent of the time in which the GPU is used (default: the session's)")
      ->type_name("PERCENT")
      ->check(kPercent);
}

void add_export(CLI::App& app, ExportOptions& options) {
  CLI::App* command = app.add_subcommand("export", "Write the report of a session for other programs");
  command->formatter(std::make_shared<WithUsage>("diogenes export [SESSION] [OPTIONS]"));
  command->footer(
      "Formats:\n"
      "  json            everything, schema diogenes-report/2 (default)\n"
      "  html            one page that needs no network: findings, kernels, where time goes, timeline\n"
      "  csv             one row a problem, for spreadsheets\n"
      "  kernels-csv     one row a kernel\n"
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
  command->formatter(std::make_shared<WithUsage>("diogenes diff OLD NEW [OPTIONS]"));
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
  CLI::App* command = app.add_subcommand("gate", "Fail where more can be saved than a project allows");
  command->formatter(std::make_shared<WithUsage>("diogenes gate [SESSION] [OPTIONS]"));
  command->footer(
      "What counts is the lower end of the range of all findings together.\n"
      "Exit status: 0 not above, 1 above, 3 the session is not complete, so it cannot be said.\n\nExamples:\n"
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
                   "Most that may be left to save, in percent of the run time (default: 2)")
      ->type_name("PERCENT")
      ->transform(without_sign)
      ->check(kPercent);
  command->add_option("--allow", options.allow, "Findings that may stay, each with a reason")
      ->type_name("FILE");
  add_model(command, options.model);
  add_owners(command, options.own, options.library);
}

void add_prove(CLI::App& app, ProveOptions& options) {
  CLI::App* command =
      app.add_subcommand("prove", "Run the program with its waits corrected, and say what that gains");
  command->formatter(std::make_shared<WithUsage>("diogenes prove [SESSION] [OPTIONS]"));
  command->footer(
      "The program is run as it is and corrected, in turns. A wait or release that is corrected returns at\n"
      "once; whoever touches what it protects then waits for the GPU, so results stay what they are.\n"
      "docs/proving.md has more.\n\nExamples:\n"
      "  diogenes prove\n  diogenes prove als.1.diogenes --only P1,R1 --pairs 10");
  command->add_option("SESSION", options.session, "Session folder (default: the newest in this folder)")
      ->type_name("");
  command
      ->add_option("--only", options.only,
                   "Correct these findings only: problems, groups, or needed waits (P1,G2,R1)")
      ->type_name("ID,...")
      ->delimiter(',');
  command->add_option("--pairs", options.pairs, "Runs as it is and corrected (default: 5)")
      ->type_name("N")
      ->check(kPositive);
  command
      ->add_option(
          "--timeout", options.timeout_s,
          "End a run that takes longer (default: 20 times the session's first run and a minute; of a "
          "corrected run, 5 times the plain one and 30 s)")
      ->type_name("SECONDS")
      ->check(kPositive);
  command
      ->add_option_function<std::string>(
          "--pool-limit", [&options](const std::string& text) { options.pool_limit = bytes_of(text); },
          "Keep no more than SIZE of the GPU's memory from releases that were corrected (default: half of what "
          "is free)")
      ->type_name("SIZE")
      ->check(kAnySize);
  add_model(command, options.model);
  add_owners(command, options.own, options.library);
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* doctor = app.add_subcommand("doctor", "Can this machine, driver and program be measured?");
  doctor->formatter(std::make_shared<WithUsage>("diogenes doctor [OPTIONS] [-- COMMAND [ARGS...]]"));
  doctor->footer(
      "Exit status 1 where something stands in the way.\n\nExamples:\n  diogenes doctor\n"
      "  diogenes doctor --driver simulated -- ./app");
  add_driver(*doctor, options.driver);
  doctor->prefix_command();
}

// What a session that is resumed was begun with stays; else its runs could not be joined.
int check_resume(const CLI::App& run) {
  for (const char* kept :
       {"--output", "--driver", "--plain-run", "--prepare", "--threshold", "--gpu-times", "--repeat",
        "--no-follow-values", "--max-trace-size", "--max-overhead", "--region"})
    if (run.get_option(kept)->count() > 0)
      return fail(kUsage, fmt::format("--resume keeps what the session was begun with; leave out {}", kept));
  return kSuccess;
}

// Without --, the first word that is no option begins the command.
int take_command(const CLI::App& command, std::vector<std::string> after_dashes,
                 std::vector<std::string>& result) {
  result = command.remaining();
  if (!result.empty() && result.front().starts_with("-"))
    return fail(kUsage, fmt::format("unknown option {}; `diogenes {} --help` lists them", result.front(),
                                    command.get_name()));
  result.insert(result.end(), after_dashes.begin(), after_dashes.end());
  return kSuccess;
}

// A descriptor that is closed stays closed for the program, but no file of ours may land there.
void fill_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR | O_CLOEXEC);
}

int main(int argc, char** argv) {
  fill_standard_descriptors();
  RunOptions run_options, profile_options;
  ReportOptions report_options;
  ExploreOptions explore_options;
  ExportOptions export_options;
  DiffOptions diff_options;
  GateOptions gate_options;
  ProveOptions prove_options;
  DoctorOptions doctor_options;

  CLI::App app(
      "Which synchronizations and transfers of a GPU program were not needed, and what removing them would "
      "gain.",
      "diogenes");
  app.formatter(std::make_shared<WithUsage>("diogenes COMMAND [OPTIONS]"));
  app.footer(
      "Start with:\n  diogenes doctor\n  diogenes run -- ./app\n\nEach command has --help with examples.");
  app.set_version_flag("--version", version_text(), "Show the version, and how it was built");
  // Made when diogenes is built; not in --help.
  app.add_option_function<std::string>(
         "--write-documents",
         [&app](const std::string& folder) {
           if (Status written = write_documents(app, kVersion, folder); !written)
             throw CLI::RuntimeError(fail(kOwnFailure, written.error().c_str()));
           throw CLI::Success();
         })
      ->group("");
  app.require_subcommand(1);
  add_run(app, run_options);
  add_profile(app, profile_options);
  add_report(app, report_options);
  add_explore(app, explore_options);
  add_export(app, export_options);
  add_diff(app, diff_options);
  add_gate(app, gate_options);
  add_prove(app, prove_options);
  add_doctor(app, doctor_options);

  CommandLine line = split(argc, argv);
  const std::string first = line.ours.empty() ? "" : line.ours.front();
  std::reverse(line.ours.begin(), line.ours.end());  // as CLI11 takes them
  try {
    app.parse(line.ours);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::RuntimeError& failed) {
    return failed.get_exit_code();
  } catch (const CLI::ParseError& wrong) {
    const std::string command =
        app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name() + " ";
    return fail(kUsage,
                fmt::format("{}; `diogenes {}--help` shows how", what_is_wrong(app, first, wrong), command));
  }

  CLI::App* chosen = app.get_subcommands().front();
  std::string name = chosen->get_name();
  if (name == "run") {
    if (int wrong = take_command(*chosen, line.program, run_options.command)) return wrong;
    if (!run_options.resume.empty())
      if (int wrong = check_resume(*chosen)) return wrong;
    if (run_options.command.empty() && run_options.resume.empty())
      return fail(kUsage, "no command to run; diogenes run [OPTIONS] -- COMMAND [ARGS...]");
    return run(run_options);
  }
  if (name == "profile") {
    if (int wrong = take_command(*chosen, line.program, profile_options.command)) return wrong;
    if (profile_options.command.empty())
      return fail(kUsage, "no command to run; diogenes profile [OPTIONS] -- COMMAND [ARGS...]");
    return profile(profile_options);
  }
  if (name == "doctor") {
    if (int wrong = take_command(*chosen, line.program, doctor_options.command)) return wrong;
    return doctor(doctor_options);
  }
  if (!line.program.empty())
    return fail(kUsage, fmt::format("{} takes no command; `diogenes {} --help` shows how", name, name));
  if (name == "diff") return diff(diff_options);
  if (name == "gate") return gate(gate_options);
  if (name == "prove") return prove(prove_options);
  if (name == "explore") return explore(explore_options);
  return name == "report" ? report(report_options) : export_report(export_options);
}

}  // namespace
}  // namespace diogenes::launcher

int main(int argc, char** argv) { return diogenes::launcher::main(argc, argv); }
