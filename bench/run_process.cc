#include "run_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

extern char** environ;

namespace diogenes::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> result = changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string own = *entry;
    const std::string name = own.substr(0, own.find('=') + 1);
    bool changed = false;
    for (const auto& change : changes) changed = changed || change.starts_with(name);
    if (!changed) result.push_back(own);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void redirect(int descriptor, const std::string& file, int flags) {
  const int opened = open(file.c_str(), flags, 0600);
  if (opened < 0 || dup2(opened, descriptor) < 0) _exit(127);
  close(opened);
}

// Waits until the child ends, or kills its process group when the limit is over. The end is when waitpid
// returns.
int wait_for(pid_t child, double limit_s, bool& timed_out, Clock::time_point& end_of_child) {
  std::atomic<bool> ended = false, killed = false;
  std::thread alarm([&] {
    const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
    while (!ended.load() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (ended.load()) return;
    killed = true;
    kill(-child, SIGKILL);
  });
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end_of_child = Clock::now();
  ended = true;
  alarm.join();
  timed_out = killed.load();
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ProcessRun run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  const TemporaryFolder folder;
  const std::string in = folder.path() / "in", out = folder.path() / "out", errors = folder.path() / "errors";
  std::ofstream(in, std::ios::binary) << options.input;
  auto arguments = command, environment = environment_with(options.environment);
  const auto argument_pointers = pointers(arguments), environment_pointers = pointers(environment);

  ProcessRun run;
  const auto start = Clock::now();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    setpgid(0, 0);
    redirect(0, in, O_RDONLY);
    redirect(1, out, O_WRONLY | O_CREAT | O_TRUNC);
    redirect(2, errors, O_WRONLY | O_CREAT | O_TRUNC);
    execvpe(argument_pointers[0], argument_pointers.data(), environment_pointers.data());
    _exit(127);
  }
  setpgid(child, child);
  Clock::time_point end;
  run.exit_status = wait_for(child, options.limit_s, run.timed_out, end);
  run.seconds = std::chrono::duration<double>(end - start).count();
  run.output = contents(out);
  run.errors = contents(errors);
  return run;
}

TemporaryFolder::TemporaryFolder(bool keep) : keep_(keep) {
  std::string name = std::filesystem::temp_directory_path() / "diogenes-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!keep_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace diogenes::bench
