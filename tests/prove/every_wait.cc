// every-wait [--driver system] [--times N] [--seconds N] -- PROGRAM ARGS...: runs a program as it is, and then N times (1)
// with every explicit wait and every copy deferred by the corrector, those that are needed among them. Its output and its exit status
// must be the same each time. Prints how many calls were deferred, and why others were not; exit status 1 where something
// differs, or where nothing was deferred.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "launcher/installed/driver_choice.h"
#include "launcher/measuring/plan_file.h"
#include "launcher/measuring/target_environment.h"
#include "launcher/prove/corrections_reader.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

Installation installation_of_tests() {
  const fs::path top = fs::read_symlink("/proc/self/exe").parent_path().parent_path().parent_path();
  Installation result;
  result.prove = top / "lib/libdiogenes-prove.so";
  result.discover = top / "libexec/diogenes-discover";
  result.simulated = top / "lib/simulated/libcuda.so.1";
  if (const char* cache = getenv("XDG_CACHE_HOME")) result.cache = fs::path(cache) / "diogenes";
  return result;
}

struct Ended {
  std::string output;
  int status = 0;  // as waitpid has it; -1: it hung
  bool operator==(const Ended&) const = default;
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Ended run(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const fs::path& folder, int seconds) {
  const fs::path output = folder / "output";
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, STDOUT_FILENO);
    std::vector<char*> arguments, variables;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    for (const std::string& entry : environment) variables.push_back(const_cast<char*>(entry.c_str()));
    arguments.push_back(nullptr), variables.push_back(nullptr);
    execve(arguments[0], arguments.data(), variables.data());
    _exit(127);
  }
  Ended ended;
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (waitpid(child, &ended.status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > last) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      ended.status = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ended.output = content(output);
  return ended;
}

std::string first_difference(const std::string& one, const std::string& other) {
  std::istringstream ones(one), others(other);
  std::string a, b;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(ones, a)),
               more_others = static_cast<bool>(std::getline(others, b));
    if (!more && !more_others) return "no line";
    if (!more || !more_others || a != b)
      return fmt::format("line {}: '{}', and corrected '{}'", line, more ? a : "", more_others ? b : "");
  }
}

int main(int argc, char** argv) {
  DriverKind kind = DriverKind::simulated;
  int times = 1, seconds = 120, i = 1;
  for (; i + 1 < argc && std::string_view(argv[i]) != "--"; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--driver") kind = std::string_view(argv[i + 1]) == "system" ? DriverKind::system : kind;
    if (option == "--times") times = atoi(argv[i + 1]);
    if (option == "--seconds") seconds = atoi(argv[i + 1]);
  }
  const std::vector<std::string> command(argv + std::min(i + 1, argc), argv + argc);
  if (command.empty()) {
    fmt::print(stderr, "every-wait [--driver system] [--times N] [--seconds N] -- PROGRAM ARGS...\n");
    return 2;
  }
  const Installation installation = installation_of_tests();
  Result<ChosenDriver> driver = choose_driver(kind, installation);
  Result<DriverHooks> hooks =
      driver ? prepare_driver(*driver, installation, true) : Result<DriverHooks>(driver.error());
  if (!hooks) {
    fmt::print(stderr, "{}\n", hooks.error().c_str());
    return 2;
  }
  char name[] = "/tmp/every-wait-XXXXXX";
  const fs::path folder = mkdtemp(name);
  AgentSettings settings{.library_folder = hooks->driver.library_folder};
  const std::vector<std::string> environment = own_environment();
  const Ended plain = run(command, target_environment(environment, settings), folder, seconds);
  settings.agent = installation.prove;
  settings.plan = folder / "plan";
  settings.guards = true;
  Status planned =
      write_plan(settings.plan, {.stage = Stage::proving,
                                 .driver = hooks->build_id,
                                 .hooks = hooks->all,
                                 .recorded_bytes_limit = 1 << 20,
                                 .corrected = {{kEverySite, 0, kKnowsContents | kSetsOneValue | kIsNeeded}}});
  if (!planned) {
    fmt::print(stderr, "{}\n", planned.error().c_str());
    return 2;
  }
  int different = 0;
  for (int n = 0; n < times; ++n) {
    const Ended corrected = run(command, target_environment(environment, settings), folder, seconds);
    if (corrected == plain) continue;
    ++different;
    fmt::print("different: {}; status {:#x}, and corrected {}\n",
               first_difference(plain.output, corrected.output), plain.status,
               corrected.status == -1 ? "it hung" : fmt::format("{:#x}", corrected.status));
  }
  const CountsOfRun counts = read_counts(folder);
  const CorrectionCounts sums = counts.all_sites();
  std::string why;
  for (int k = 1; k < static_cast<int>(Undeferred::count); ++k)
    if (sums.undeferred[k] > 0)
      why += fmt::format("\n  {:8} {}", sums.undeferred[k], undeferred_text(static_cast<Undeferred>(k)));
  fmt::print(
      "{} of {} runs different; {} of {} waits deferred, {} touched before they were done, {} failures{}\n",
      different, times, sums.deferred, sums.calls, sums.touched, counts.failed, why);
  fs::remove_all(folder);
  return different > 0 || sums.deferred == 0;
}

}  // namespace
}  // namespace diogenes::launcher

int main(int argc, char** argv) { return diogenes::launcher::main(argc, argv); }
