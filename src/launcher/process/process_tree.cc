#include "launcher/process/process_tree.h"

#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace diogenes::launcher {
namespace {

struct Stat {
  pid_t parent = 0;
  uint64_t started = 0;
  char state = 0;
};

std::optional<Stat> read_stat(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return {};
  size_t name_end = text.rfind(')');  // the name may hold anything, brackets too
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  Stat stat;
  fields >> stat.state >> stat.parent;
  std::string skipped;
  for (int field = 5; field <= 21; ++field) fields >> skipped;
  fields >> stat.started;
  if (!fields) return {};
  return stat;
}

}  // namespace

std::vector<ProcessIdentity> process_tree(pid_t root) {
  struct Known {
    ProcessIdentity identity;
    pid_t parent;
  };
  std::vector<Known> all;
  std::error_code ignored;
  for (auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::string name = entry.path().filename().string();
    pid_t pid = 0;
    auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed != std::errc{} || end != name.data() + name.size()) continue;
    if (auto stat = read_stat(pid)) all.push_back({{pid, stat->started}, stat->parent});
  }
  std::vector<ProcessIdentity> tree;
  for (auto& known : all)
    if (known.identity.pid == root) tree.push_back(known.identity);
  for (size_t next = 0; next < tree.size(); ++next)
    for (auto& known : all)
      if (known.parent == tree[next].pid && known.identity.pid != root) tree.push_back(known.identity);
  return tree;
}

int signal_all(const std::vector<ProcessIdentity>& processes, int signal) {
  int alive = 0;
  for (auto& process : processes) {
    auto stat = read_stat(process.pid);
    if (!stat || stat->started != process.started || stat->state == 'Z') continue;
    ++alive;
    kill(process.pid, signal);
  }
  return alive;
}

}  // namespace diogenes::launcher
