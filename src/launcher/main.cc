// diogenes: reads the command line, and begins the command. What options there are: command_line/.
#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "launcher/command_line/build_details.h"
#include "launcher/command_line/commands.h"
#include "launcher/command_line/documents.h"
#include "launcher/command_line/messages.h"
#include "launcher/measuring/resume.h"
#include "launcher/options.h"

namespace diogenes::launcher {
namespace {

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

// What a session that is resumed was begun with stays; else its runs could not be joined.
int check_resume(const CLI::App& run) {
  for (const char* kept :
       {"--output", "--driver", "--plain-run", "--prepare", "--threshold", "--gpu-times", "--samples",
        "--repeat", "--no-follow-values", "--max-trace-size", "--max-overhead", "--region"})
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
  StartOptions start_options;
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
  app.formatter(with_usage("diogenes COMMAND [OPTIONS]"));
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
  add_start(app, start_options);
  add_stop(app, start_options);
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
  if (name == "start") return start(start_options);
  if (name == "stop") return stop(start_options);
  if (name == "diff") return diff(diff_options);
  if (name == "gate") return gate(gate_options);
  if (name == "prove") return prove(prove_options);
  if (name == "explore") return explore(explore_options);
  return name == "report" ? report(report_options) : export_report(export_options);
}

}  // namespace
}  // namespace diogenes::launcher

int main(int argc, char** argv) { return diogenes::launcher::main(argc, argv); }
