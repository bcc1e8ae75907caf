// The environment of the measured program: the user's, with the agent in it.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace diogenes::launcher {

struct AgentSettings {
  std::filesystem::path agent, plan;     // empty: none, a plain run
  std::filesystem::path library_folder;  // put in front of LD_LIBRARY_PATH; empty: none
  std::filesystem::path plug_in, cupti;  // for GPU times: preloaded behind the agent; empty: none
  std::filesystem::path samples;         // that of GPU times opens it, to sample the GPU; empty: none
  std::filesystem::path python;          // reads Python's frames: preloaded likewise; empty: none
  std::filesystem::path values;          // follows values: preloaded likewise; empty: none
  std::string region;                    // the name of the NVTX ranges that the agent hears; empty: none
  bool guards = false;                   // pages of the program are guarded (ffm/peer_copies.h)
};

// `original`: NAME=VALUE. The user's LD_PRELOAD stays behind ours, his CUDA_INJECTION64_PATH stays.
std::vector<std::string> target_environment(const std::vector<std::string>& original,
                                            const AgentSettings& settings);

// environ, as strings.
std::vector<std::string> own_environment();

// What may change how the program runs: CUDA_*, LD_*, OMP_*, ranks. For session.json; nothing private.
std::vector<std::pair<std::string, std::string>> environment_that_matters(
    const std::vector<std::string>& original);

// `--region`: can the program's NVTX ranges be heard? NVTX gives its calls to one tool, the one that NVTX_INJECTION64_PATH
// names: what the user has set there stays. `region` empty: nothing is heard.
Status check_region(const std::string& region, const std::vector<std::string>& environment);

// Value of NAME; "" if it is not set.
std::string value_of(const std::vector<std::string>& environment, const std::string& name);

}  // namespace diogenes::launcher
