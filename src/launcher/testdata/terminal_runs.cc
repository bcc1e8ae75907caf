// Runs a command as often as `diogenes run` would, without measuring it: terminal_runs FOLDER RUNS COMMAND...
// FOLDER/log gets a line a run: its exit status, signal, processor-independent figures and what finish() says.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "launcher/process/standard_streams.h"

namespace launcher = diogenes::launcher;

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::filesystem::path folder = argv[1];
  launcher::StandardStreams streams(folder, {});
  std::ofstream log(folder / "log");
  int status = 0;
  for (int run = 1; run <= atoi(argv[2]); ++run) {
    std::filesystem::create_directories(folder / std::to_string(run));
    launcher::Target target{
        .program = argv[3], .arguments = {argv + 3, argv + argc}, .ends_with_us = run > 1};
    for (char** variable = environ; *variable; ++variable) target.environment.emplace_back(*variable);
    target.environment.push_back(fmt::format("RUN={}", run));
    if (run > 1) target.limit = {60'000'000'000};
    streams.route(target, folder / std::to_string(run));
    auto result = launcher::run_target(target);
    if (!result) {
      log << "error: " << result.error().c_str() << std::endl;
      return 125;
    }
    log << fmt::format("run {} status {} signal {} interrupted {} more {} drew {} waited {} runtime {}", run,
                       result->exit_status, result->signal, result->interrupted_by, result->asked_for_more,
                       result->drew, result->waited_for_user.seconds(), result->runtime.seconds());
    for (const std::string& difference : streams.finish(*result)) log << " | " << difference;
    log << std::endl;
    if (run == 1) status = result->exit_status;
  }
  if (!streams.problem().empty()) log << "problem: " << streams.problem() << std::endl;
  return status;
}
