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

std::string elapsed_text(Nanoseconds time) {
  const int64_t seconds = time.count / 1'000'000'000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

void Progress::begin(std::string_view name, std::string_view what, bool shares_terminal) {
  if (!is_terminal(STDERR_FILENO)) return;
  head_ = name;
  line_open_ = !shares_terminal;
  const std::string line = fmt::format("{}: {} ...{}", name, what, shares_terminal ? "\n" : "");
  length_ = line.size();
  write_all(STDERR_FILENO, line);
}

void Progress::erase_elapsed() {
  const std::string back(elapsed_, '\b');
  write_all(STDERR_FILENO, back + std::string(elapsed_, ' ') + back);
  elapsed_ = 0;
}

void Progress::elapsed(Nanoseconds time) {
  const std::string text = " " + elapsed_text(time);
  // No character of it may be on the next line, from where nothing leads back.
  const bool fits = length_ + text.size() < static_cast<size_t>(columns(STDERR_FILENO));
  if (head_.empty() || !line_open_ || !fits || tcgetpgrp(STDERR_FILENO) != getpgrp()) return;
  erase_elapsed();
  write_all(STDERR_FILENO, text);
  elapsed_ = text.size();
}

void Progress::end(std::string_view outcome) {
  if (head_.empty()) return;
  erase_elapsed();
  write_all(STDERR_FILENO,
            line_open_ ? fmt::format(" {}\n", outcome) : fmt::format("{}: {}\n", head_, outcome));
  head_.clear();
  line_open_ = false;
}

}  // namespace diogenes::launcher
