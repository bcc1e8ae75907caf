// Where the parts of this installation lie, relative to the running program. Built or packed as a folder: DIR/bin/diogenes,
// DIR/lib, DIR/libexec. Installed (cmake/Install.cmake): DIR/bin/diogenes, and all else in DIR/lib/diogenes. The folder
// may be moved as a whole.
#pragma once
#include <filesystem>

#include "base/result.h"

namespace diogenes::launcher {

struct Installation {
  std::filesystem::path agent;        // lib/libdiogenes-agent.so
  std::filesystem::path gpu_times;    // lib/libdiogenes-gpu-times.so
  std::filesystem::path gpu_samples;  // lib/libdiogenes-gpu-samples.so
  std::filesystem::path python;       // lib/libdiogenes-python.so
  std::filesystem::path values;       // lib/libdiogenes-values.so
  std::filesystem::path prove;        // lib/libdiogenes-prove.so: the agent that corrects
  std::filesystem::path discover;     // libexec/diogenes-discover
  std::filesystem::path simulated;    // lib/simulated/libcuda.so.1
  std::filesystem::path terminfo;     // share/terminfo: terminals' descriptions, in a pack
  std::filesystem::path cache;        // $XDG_CACHE_HOME/diogenes, or ~/.cache/diogenes; "" with neither
};

Installation find_installation();

// Can the agent be preloaded? The error says which file is missing, or that LD_PRELOAD cannot name its path.
Status check_agent(const Installation& installation);

}  // namespace diogenes::launcher
