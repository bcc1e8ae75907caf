#include "launcher/installed/gpu_sampling.h"

#include <fmt/format.h>

#include <fstream>

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCountersLibrary = "libnvperf_host.so";

// The number behind `name` in a file of lines "NAME: NUMBER"; "": there is none.
std::string value_in(const fs::path& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string word; lines >> word;)
    if (word == name) return lines >> word ? word : "";
  return "";
}

}  // namespace

SamplingSituation sampling_situation(const fs::path& cupti) {
  constexpr int kSysAdmin = 21;  // CAP_SYS_ADMIN
  const std::string capabilities = value_in("/proc/self/status", "CapEff:");
  const unsigned long long bits = strtoull(capabilities.c_str(), nullptr, 16);
  return {cupti, "/proc/driver/nvidia/params", (bits >> kSysAdmin & 1) != 0};
}

std::string sampling_problem(const SamplingSituation& situation) {
  if (situation.cupti.empty())
    return "no libcupti was found; it comes with CUDA toolkits, and DIOGENES_CUPTI names its file";
  std::error_code failed;
  const fs::path real = fs::canonical(situation.cupti, failed);
  if (!fs::exists(situation.cupti.parent_path() / kCountersLibrary, failed) &&
      !fs::exists(real.parent_path() / kCountersLibrary, failed))
    return fmt::format(
        "{} is not beside {}; install it (it comes with the same package), or name another libcupti with "
        "DIOGENES_CUPTI",
        kCountersLibrary, situation.cupti.string());
  if (!situation.administrator && value_in(situation.driver_parameters, "RmProfilingAdminOnly:") == "1")
    return "the driver lets only administrators read the GPU's counters; run as root (in a container: --cap-add SYS_ADMIN), or "
           "load the driver with NVreg_RestrictProfilingToAdminUsers=0";
  return "";
}

}  // namespace diogenes::launcher
