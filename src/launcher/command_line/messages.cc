#include "launcher/command_line/messages.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace diogenes::launcher {
namespace {

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(fd, text.data(), text.size());
    if (written <= 0) return;  // nowhere left to say it
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void say(std::string_view text) {
  std::string line = fmt::format("diogenes: {}", text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  write_all(STDERR_FILENO, line);
}

int fail(int status, std::string_view text) {
  say(text);
  return status;
}

bool is_terminal(int fd) { return isatty(fd) == 1; }

bool colors_wanted(int fd) {
  const char* no_color = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  bool refused = no_color != nullptr && *no_color != 0;
  bool dumb = term == nullptr || strcmp(term, "dumb") == 0;
  return is_terminal(fd) && !refused && !dumb;
}

int columns(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

void Progress::begin(std::string_view name, std::string_view what, bool shares_terminal) {
  if (!is_terminal(STDERR_FILENO)) return;
  head_ = name;
  line_open_ = !shares_terminal;
  write_all(STDERR_FILENO, fmt::format("{}: {} ...{}", name, what, shares_terminal ? "\n" : ""));
}

void Progress::end(std::string_view outcome) {
  if (head_.empty()) return;
  write_all(STDERR_FILENO,
            line_open_ ? fmt::format(" {}\n", outcome) : fmt::format("{}: {}\n", head_, outcome));
  head_.clear();
  line_open_ = false;
}

}  // namespace diogenes::launcher
