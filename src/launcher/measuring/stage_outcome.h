// What the processes of one stage left, as far as the launcher decides on it: did any use CUDA, did the hooks
// get in. Everything else is the analysis's business.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace diogenes::launcher {

struct StageOutcome {
  int processes = 0;  // that the agent was in
  int used_cuda = 0;  // of them, those that initialised the driver
  int other_driver =
      0;  // of those that used CUDA: another libcuda than the plan is for, so nothing was hooked
  int hooks_planned = 0;  // in the process with the most
  int hooks_installed = 0;
  int cuda_version = 0;       // as the driver tells it: 13000; 0: nobody asked
  std::string driver_path;    // of a process that used CUDA
  bool records_lost = false;  // for want of space
};

// `driver_build_id`: hexadecimal; the plan's.
StageOutcome read_stage_outcome(const std::filesystem::path& stage_folder,
                                const std::string& driver_build_id);

}  // namespace diogenes::launcher
