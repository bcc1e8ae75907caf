#include "launcher/command_line/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace diogenes::launcher {
namespace {

bool write_all(int fd, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    ssize_t step = write(fd, text.data() + written, text.size() - written);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return false;
    written += static_cast<size_t>(step);
  }
  return true;
}

}  // namespace

Status write_output(const std::string& file, const std::string& text, bool force) {
  if (file == "-") {
    signal(SIGPIPE, SIG_IGN);
    if (write_all(STDOUT_FILENO, text) || errno == EPIPE) return Done{};
    return error("cannot write to stdout: %s", strerror(errno));
  }
  const std::string unfinished = file + ".new";
  if (!force && access(file.c_str(), F_OK) == 0)
    return error("%s exists already; give another -o, or --force to overwrite it", file.c_str());
  int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool written = fd >= 0 && write_all(fd, text);
  int reason = errno;
  if (fd >= 0) close(fd);
  if (written && rename(unfinished.c_str(), file.c_str()) == 0) return Done{};
  if (written) reason = errno;
  if (fd >= 0) unlink(unfinished.c_str());
  return error("cannot write %s: %s; choose another file with -o", file.c_str(), strerror(reason));
}

}  // namespace diogenes::launcher
