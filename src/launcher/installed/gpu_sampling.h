// Can this machine's GPU be sampled (gpu_times/pc_sampling.cc)? As far as it can be told before a program uses it.
#pragma once
#include <filesystem>
#include <string>

namespace diogenes::launcher {

struct SamplingSituation {
  std::filesystem::path cupti;              // as find_cupti() finds it; empty: none
  std::filesystem::path driver_parameters;  // /proc/driver/nvidia/params
  bool administrator = false;               // this process has CAP_SYS_ADMIN
};

// Of this process, with that libcupti.
SamplingSituation sampling_situation(const std::filesystem::path& cupti);

// What is missing, and what to do; "": nothing is. A virtual GPU, a part of one (MIG) or another profiler shows only when a
// program is sampled.
std::string sampling_problem(const SamplingSituation& situation);

}  // namespace diogenes::launcher
