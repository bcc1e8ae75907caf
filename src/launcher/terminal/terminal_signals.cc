#include "launcher/terminal/terminal_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

namespace diogenes::launcher {
namespace {

constexpr std::array kAsking = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
constexpr size_t kStack = 64 << 10;  // for a crash that is a stack overflow

struct Watch {
  int fd = -1;
  termios modes{};
  char bytes[512] = {};
  size_t count = 0;
  int pipe[2] = {-1, -1};
  struct sigaction before[kAsking.size() + kCrashes.size()];
};
Watch watch;

void hand_over(int signal) {
  const int before = errno;
  const char byte = static_cast<char>(signal);
  [[maybe_unused]] ssize_t written = write(watch.pipe[1], &byte, 1);  // a full pipe holds one already
  errno = before;
}

void crash(int signal) {
  restore_terminal();
  // The handler is gone already (SA_RESETHAND): the signal ends the program, as it would have.
  raise(signal);
}

}  // namespace

void restore_terminal() {
  if (watch.fd < 0) return;
  [[maybe_unused]] ssize_t written = write(watch.fd, watch.bytes, watch.count);
  tcsetattr(watch.fd, TCSANOW, &watch.modes);
}

Result<int> watch_signals(int fd, const termios& modes, const std::string& restore) {
  if (pipe2(watch.pipe, O_CLOEXEC | O_NONBLOCK) != 0) return error("pipe: %s", strerror(errno));
  watch.fd = fd;
  watch.modes = modes;
  watch.count = std::min(restore.size(), sizeof watch.bytes);
  memcpy(watch.bytes, restore.data(), watch.count);
  static std::vector<char> stack(kStack);
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  size_t i = 0;
  for (int signal : kAsking) {
    struct sigaction action {};
    action.sa_handler = hand_over;
    sigaction(signal, &action, &watch.before[i++]);
  }
  for (int signal : kCrashes) {
    struct sigaction action {};
    action.sa_handler = crash;
    action.sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
    sigaction(signal, &action, &watch.before[i++]);
  }
  return int{watch.pipe[0]};
}

void unwatch_signals() {
  size_t i = 0;
  for (int signal : kAsking) sigaction(signal, &watch.before[i++], nullptr);
  for (int signal : kCrashes) sigaction(signal, &watch.before[i++], nullptr);
  watch.fd = -1;
  for (int& end : watch.pipe) close(std::exchange(end, -1));
}

void stop_here() {
  struct sigaction usual {
  }, before{};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &usual, &before);
  raise(SIGTSTP);
  sigaction(SIGTSTP, &before, nullptr);
}

}  // namespace diogenes::launcher
