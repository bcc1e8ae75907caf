#include "launcher/terminal/terminal_wait.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPolled = 1024;  // descriptors of one poll() that are looked at

std::string text_of(const std::string& path) {
  std::string text(4096, 0);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? -1 : read(fd, text.data(), text.size());
  if (fd >= 0) close(fd);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

std::vector<pid_t> numbers_of(const std::string& folder) {
  std::vector<pid_t> numbers;
  std::error_code failed;
  for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    pid_t number = 0;
    auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (wrong == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
  }
  return numbers;
}

// One thread's system call, as its process may be asked about it.
class Call {
 public:
  Call(pid_t process, dev_t terminal) : process_(process), terminal_(terminal) {}

  // `text`: of /proc/PID/task/TID/syscall.
  TerminalWait::Kind kind(const std::string& text) {
    using Kind = TerminalWait::Kind;
    long number = -1;
    std::array<uint64_t, 5> a{};
    if (sscanf(text.c_str(), "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &a[0],
               &a[1], &a[2], &a[3], &a[4]) != 6)
      return Kind::none;  // "running"
    switch (number) {
      case SYS_read:
      case SYS_readv:
        return is_terminal(static_cast<int>(a[0])) ? Kind::blocked : Kind::none;
      case SYS_poll:
        return polls(a[0], a[1]) ? limit(static_cast<int>(a[2]) >= 0) : Kind::none;
      case SYS_ppoll:
        return polls(a[0], a[1]) ? limit(a[2] != 0) : Kind::none;
      case SYS_select:
      case SYS_pselect6:
        return selects(a[0], a[1]) ? limit(a[4] != 0) : Kind::none;
      case SYS_epoll_wait:
      case SYS_epoll_pwait:
        return watches(static_cast<int>(a[0])) ? limit(static_cast<int>(a[3]) >= 0) : Kind::none;
      case SYS_epoll_pwait2:
        return watches(static_cast<int>(a[0])) ? limit(a[3] != 0) : Kind::none;
      default:
        return Kind::none;
    }
  }

 private:
  static TerminalWait::Kind limit(bool limited) {
    return limited ? TerminalWait::Kind::limited : TerminalWait::Kind::blocked;
  }

  bool is_terminal(int fd) const {
    struct stat status {};
    if (fd < 0 || stat(fmt::format("/proc/{}/fd/{}", process_, fd).c_str(), &status) != 0) return false;
    return S_ISCHR(status.st_mode) &&
           (status.st_rdev == terminal_ || status.st_rdev == makedev(5, 0));  // /dev/tty
  }

  bool copy_in(uint64_t from, void* to, size_t size) const {
    iovec here{to, size}, there{reinterpret_cast<void*>(from), size};
    return process_vm_readv(process_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
  }

  bool polls(uint64_t address, uint64_t count) const {
    std::vector<pollfd> files(std::min<uint64_t>(count, kMostPolled));
    if (files.empty() || !copy_in(address, files.data(), files.size() * sizeof(pollfd))) return false;
    return std::any_of(files.begin(), files.end(),
                       [&](const pollfd& file) { return (file.events & POLLIN) && is_terminal(file.fd); });
  }

  bool selects(uint64_t count, uint64_t address) const {
    fd_set files;
    FD_ZERO(&files);
    count = std::min<uint64_t>(count, FD_SETSIZE);
    const size_t bytes = (count + 63) / 64 * 8;
    if (address == 0 || bytes == 0 || !copy_in(address, &files, bytes)) return false;
    for (int fd = 0; fd < static_cast<int>(count); ++fd)
      if (FD_ISSET(fd, &files) && is_terminal(fd)) return true;
    return false;
  }

  bool watches(int epoll) const {
    std::istringstream lines(text_of(fmt::format("/proc/{}/fdinfo/{}", process_, epoll)));
    for (std::string line; std::getline(lines, line);) {
      int fd = -1;
      unsigned events = 0;
      if (sscanf(line.c_str(), "tfd: %d events: %x", &fd, &events) == 2 && (events & POLLIN) &&
          is_terminal(fd))
        return true;
    }
    return false;
  }

  pid_t process_;
  dev_t terminal_;
};

Nanoseconds cpu_of(pid_t process) {
  const std::string text = text_of(fmt::format("/proc/{}/stat", process));
  const size_t name_end = text.rfind(')');
  unsigned long user = 0, system = 0;
  if (name_end == std::string::npos ||
      sscanf(text.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
             &system) != 2)
    return {};
  return {static_cast<int64_t>(user + system) * (1'000'000'000 / sysconf(_SC_CLK_TCK))};
}

// As in `ps`; X: it is gone.
char state_of(const std::string& folder) {
  const std::string text = text_of(folder + "/stat");
  const size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? 'X' : text[name_end + 2];
}

// How often a thread has begun to wait.
uint64_t turns_of(const std::string& folder) {
  const std::string text = text_of(folder + "/status");
  constexpr std::string_view kKey = "\nvoluntary_ctxt_switches:";
  const size_t at = text.find(kKey);
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + kKey.size(), nullptr, 10);
}

}  // namespace

TerminalWait terminal_wait(pid_t root, dev_t terminal) {
  TerminalWait found;
  std::vector<pid_t> processes = {root};
  for (size_t next = 0; next < processes.size(); ++next) {
    const pid_t process = processes[next];
    found.cpu += cpu_of(process);
    Call call(process, terminal);
    for (const pid_t thread : numbers_of(fmt::format("/proc/{}/task", process))) {
      const std::string folder = fmt::format("/proc/{}/task/{}", process, thread);
      std::istringstream children(text_of(folder + "/children"));
      for (pid_t child = 0; children >> child;) processes.push_back(child);
      const std::string text = text_of(folder + "/syscall");
      if (text.empty()) {
        // A process that has ended, and waits for its parent, has none either.
        const char state = state_of(folder);
        if (state != 'Z' && state != 'X') found.known = false;
        continue;
      }
      TerminalWait::Kind kind = call.kind(text);
      // A stopped job shows the call that it was in. It takes no input before it goes on.
      if (kind != TerminalWait::Kind::none && state_of(folder) == 'T') kind = TerminalWait::Kind::none;
      if (kind == TerminalWait::Kind::blocked && thread == process) found.main_thread = true;
      if (kind == TerminalWait::Kind::blocked)
        found.turn += (static_cast<uint64_t>(thread) << 32) + turns_of(folder);
      found.kind = std::max(found.kind, kind);
    }
  }
  return found;
}

}  // namespace diogenes::launcher
