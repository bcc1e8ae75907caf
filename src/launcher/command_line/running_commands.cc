#include <map>

#include "launcher/command_line/commands.h"
#include "launcher/command_line/option_checks.h"

namespace diogenes::launcher {
namespace {

const std::map<std::string, DriverKind> kDrivers = {{"system", DriverKind::system},
                                                    {"simulated", DriverKind::simulated}};

void add_driver(CLI::App& command, DriverKind& kind) {
  command
      .add_option_function<std::string>(
          "--driver", [&kind](const std::string& name) { kind = kDrivers.at(name); },
          "system: this machine's CUDA driver (default); simulated: the one that comes with diogenes, needs "
          "no GPU")
      ->check(CLI::IsMember(kDrivers).description(""))
      ->type_name("system|simulated");
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
          "Record at most SIZE of each process in each run (500M, 2G; default: 8G, or a quarter of the free disk space)")
      ->type_name("SIZE")
      ->check(kSize);
}

void add_cache(CLI::App& command, RunOptions& options) {
  command.add_flag_callback(
      "--no-cache", [&options] { options.use_cache = false; },
      "Search for the driver's wait function again, even if it is known");
}

}  // namespace

void add_profile(CLI::App& app, RunOptions& options) {
  options.profile = options.samples = true;
  CLI::App* profile = app.add_subcommand("profile", "Run a program once, and show where its time goes");
  profile->formatter(with_usage("diogenes profile [OPTIONS] -- COMMAND [ARGS...]"));
  profile->footer(
      "One run: kernels and copies with the lines that launched them, what the run gains if a kernel is faster, "
      "and\nthe CPU's time between calls. It does not say which waits and transfers were needed: `diogenes run` does.\n"
      "The report goes to stderr, everything recorded to a folder APP.N.diogenes.\n"
      "The exit status is the program's, or 124 to 127, as with `diogenes run`.\n\n"
      "Examples:\n"
      "  diogenes profile -- ./solver --size 4096\n"
      "  diogenes profile --timeout 60 -- python3 train.py\n"
      "  diogenes profile --delay 30 --duration 10 -- python3 train.py\n"
      "  diogenes profile --delay 60 --duration 10 --each 600 -- python3 train.py\n"
      "  diogenes profile --wait -- ./server\n"
      "  diogenes profile --driver simulated -- build/bin/examples/als");
  add_session(*profile, options);
  profile->add_option("--timeout", options.timeout_s, "End the run if it takes longer (default: no limit)")
      ->type_name("SECONDS")
      ->check(kPositive);
  profile
      ->add_option("--delay", options.delay_s,
                   "Record nothing before; where --duration is not given, all from then on")
      ->type_name("SECONDS")
      ->check(kPositive);
  profile
      ->add_option("--duration", options.duration_s,
                   "Record for so long; the report comes then, and the program goes on undisturbed")
      ->type_name("SECONDS")
      ->check(kPositive);
  CLI::Option* each =
      profile->add_option("--each", options.each_s,
                          "Record again so many seconds after a recording began, for --duration each, "
                          "until the program ends");
  each->type_name("SECONDS")->check(kPositive)->needs("--duration");
  profile
      ->add_option_function<double>(
          "--share", [&options](double share) { options.each_s = options.duration_s / share; },
          "The same, so that this share of the time is recorded (0.05: for --duration, and then 19 times as long not)")
      ->type_name("SHARE")
      ->check(kShare)
      ->needs("--duration")
      ->excludes(each);
  profile
      ->add_flag("--wait", options.wait,
                 "Record nothing until `diogenes start`: for servers, and for programs that never end")
      ->excludes("--delay")
      ->excludes("--duration");
  profile->parse_complete_callback([&options] {
    if (options.each_s > 0 && options.each_s <= options.duration_s)
      throw CLI::ValidationError("--each", "must be more than --duration");
  });
  add_report_file(*profile, options);
  profile->add_flag_callback(
      "--all-gpu-times", [&options] { options.gpu_times = "all"; },
      "Learn of all GPU work when it ran, not of a part: costs a program of many short kernels more");
  profile
      ->add_option_function<std::string>(
          "--samples", [&options](const std::string& when) { options.samples = when == "auto"; },
          "Sample the GPU, which shows where in a kernel time goes: auto (default: if this machine allows it) or off")
      ->type_name("auto|off")
      ->check(CLI::IsMember({"auto", "off"}).description(""));
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
  run->formatter(with_usage("diogenes run [OPTIONS] -- COMMAND [ARGS...]"));
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
                "Run the program once without measurement first; overheads then refer to that run");
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
         "Least gain of what is listed, in percent of the time in which the GPU is used (default: 0.1); explicit "
         "needless synchronizations are always listed")
      ->type_name("PERCENT")
      ->check(kPercent);
  run->add_option("--gpu-times", options.gpu_times,
                  "Measure when the GPU works: auto (default: if libcupti or the driver can tell) or off")
      ->type_name("auto|off")
      ->check(CLI::IsMember({"auto", "off"}).description(""));
  run->add_flag("--samples", options.samples,
                "Sample the GPU where GPU times are measured: shows where in a kernel time goes");
  run->add_option("--repeat", options.repeat,
                  "Trace N times: expected benefits are medians, and ranges cover all N runs (default: 1)")
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
      "Do not make the extra run that follows the results of needed waits that cost much");
  run->add_option(
         "--region", options.region,
         "Judge only what happens inside NVTX ranges of that name; percentages are of the time in them")
      ->type_name("NVTX-RANGE")
      ->check(kRangeName);
  add_model(run, options.model);
  add_owners(run, options.own, options.library);
  run->add_option("--top", options.top, "Problems to print (default: 10)")->type_name("N")->check(kPositive);
  add_cache(*run, options);
  run->add_option("--resume", options.resume,
                  "Continue a session that was interrupted or killed; complete runs and options are kept")
      ->type_name("SESSION");
  run->prefix_command();
}

void add_prove(CLI::App& app, ProveOptions& options) {
  CLI::App* command =
      app.add_subcommand("prove", "Run the program with its waits corrected, and measure what that gains");
  command->formatter(with_usage("diogenes prove [SESSION] [OPTIONS]"));
  command->footer(
      "The program runs as it is and with its waits corrected, in turns. A wait or release that is corrected\nreturns "
      "at once; the first access to what it protects then waits for the GPU, so results stay the same.\n"
      "docs/proving.md has more.\n\nExamples:\n"
      "  diogenes prove\n  diogenes prove als.1.diogenes --only P1,R1 --pairs 10");
  command->add_option("SESSION", options.session, "Session folder (default: the newest in this folder)")
      ->type_name("");
  command
      ->add_option("--only", options.only,
                   "Correct these findings only: problems, groups, or needed waits (P1,G2,R1)")
      ->type_name("ID,...")
      ->delimiter(',');
  command->add_option("--pairs", options.pairs, "Pairs of runs, one as it is and one corrected (default: 5)")
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
          "Keep at most SIZE of the GPU memory whose releases were corrected (default: half of what is free)")
      ->type_name("SIZE")
      ->check(kAnySize);
  add_model(command, options.model);
  add_owners(command, options.own, options.library);
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* doctor = app.add_subcommand("doctor", "Can this machine, driver and program be measured?");
  doctor->formatter(with_usage("diogenes doctor [OPTIONS] [-- COMMAND [ARGS...]]"));
  doctor->footer(
      "Exit status 1 if something prevents a measurement.\n\nExamples:\n  diogenes doctor\n"
      "  diogenes doctor --driver simulated -- ./app");
  add_driver(*doctor, options.driver);
  doctor->prefix_command();
}

}  // namespace diogenes::launcher
