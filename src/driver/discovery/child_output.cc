#include "driver/discovery/child_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace diogenes {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

std::vector<char*> child_environment() {
  static constexpr const char* kLeftOut[] = {
      "LD_PRELOAD=",    "CUDA_INJECTION64_PATH=", "CUDA_INJECTION32_PATH=",
      "LD_AUDIT=",      "CUDA_LAUNCH_BLOCKING=",  "CUDA_DEVICE_WAITS_ON_EXCEPTION=",
      "DIOGENES_PLAN=", "DIOGENES_AGENT="};
  std::vector<char*> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    bool keep = true;
    for (const char* name : kLeftOut) keep &= strncmp(*variable, name, strlen(name)) != 0;
    if (keep) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

struct Pipe {
  int ends[2] = {-1, -1};
  bool open() { return pipe2(ends, O_CLOEXEC) == 0; }
  void close_end(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
};

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of("\n");
  if (end == std::string::npos) return "";
  const size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

Result<ChildOutput> run_child(const std::vector<std::string>& command, Nanoseconds timeout) {
  Pipe out, err;
  if (!out.open() || !err.open()) return error("no pipe for %s: %s", command[0].c_str(), strerror(errno));
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables = child_environment();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int failure =
      posix_spawn(&child, arguments[0], &actions, &attributes, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    return error("%s cannot be started: %s; is the installation whole?", command[0].c_str(),
                 strerror(failure));
  out.close_end(1);
  err.close_end(1);

  ChildOutput result;
  std::string errors;
  const Nanoseconds deadline = monotonic_now() + timeout;
  const Nanoseconds kill_at = deadline + Nanoseconds{1'000'000'000};
  bool killed = false;
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    pollfd files[2] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
    const int ready = poll(files, 2, 50);
    const Nanoseconds now = monotonic_now();
    if (now > deadline && !result.timed_out) {
      result.timed_out = true;
      kill(child, SIGTERM);
    }
    if (now > kill_at && !killed) {
      killed = true;
      kill(child, SIGKILL);
    }
    if (now > kill_at + Nanoseconds{1'000'000'000}) break;  // somebody else holds its output
    if (ready <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (files[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t got = read(files[i].fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        (i == 0 ? out : err).close_end(0);
        continue;
      }
      std::string& text = i == 0 ? result.standard_output : errors;
      if (text.size() < kMostBytes) text.append(buffer, static_cast<size_t>(got));
    }
  }
  while (waitpid(child, &result.status, 0) < 0 && errno == EINTR) {
  }
  result.last_error_line = last_line(errors);
  return result;
}

}  // namespace diogenes
