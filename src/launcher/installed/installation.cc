#include "launcher/installed/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace diogenes::launcher {

Installation find_installation() {
  std::error_code failed;
  auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  auto top = program.parent_path().parent_path();
  // Installed beside other software, our parts have a folder of their own.
  auto own = top / "lib/diogenes";
  const bool installed = std::filesystem::exists(own / "libdiogenes-agent.so", failed);
  auto lib = installed ? own : top / "lib";
  Installation result{lib / "libdiogenes-agent.so",
                      lib / "libdiogenes-gpu-times.so",
                      lib / "libdiogenes-gpu-samples.so",
                      lib / "libdiogenes-python.so",
                      lib / "libdiogenes-values.so",
                      lib / "libdiogenes-prove.so",
                      (installed ? own : top / "libexec") / "diogenes-discover",
                      lib / "simulated/libcuda.so.1",
                      top / "share/terminfo",
                      {}};
  auto set = [](const char* value) { return value != nullptr && *value == '/'; };
  if (const char* cache = getenv("XDG_CACHE_HOME"); set(cache))
    result.cache = std::filesystem::path(cache) / "diogenes";
  else if (const char* home = getenv("HOME"); set(home))
    result.cache = std::filesystem::path(home) / ".cache/diogenes";
  return result;
}

Status check_agent(const Installation& installation) {
  const std::string path = installation.agent.string();
  if (access(path.c_str(), R_OK) != 0)
    return error("the agent %s is missing; keep bin/ and lib/ of the installation side by side",
                 path.c_str());
  if (path.find_first_of(" :") != std::string::npos)
    return error("LD_PRELOAD cannot name %s; move the installation to a path without spaces and colons",
                 path.c_str());
  return Done{};
}

}  // namespace diogenes::launcher
