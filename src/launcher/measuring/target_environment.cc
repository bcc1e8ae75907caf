#include "launcher/measuring/target_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "driver/gpu_samples_plug_in.h"
#include "ffm/peer_copies.h"
#include "ffm/plan.h"

namespace diogenes::launcher {
namespace {

void set(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::string entry = name + "=" + value;
  for (auto& existing : environment)
    if (existing.starts_with(name + "=")) {
      existing = entry;
      return;
    }
  environment.push_back(entry);
}

std::string in_front(const std::string& ours, const std::string& theirs) {
  return theirs.empty() ? ours : ours + ":" + theirs;
}

bool matters(std::string_view name) {
  constexpr std::array<std::string_view, 7> kPrefixes = {
      "CUDA_", "LD_", "OMP_", "NVIDIA_", "NCCL_", "MALLOC_", "PYTHONPERFSUPPORT"};
  constexpr std::array<std::string_view, 10> kNames = {
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK",      "PMI_SIZE", "PMIX_RANK",
      "SLURM_PROCID",         "SLURM_NTASKS",         "SLURM_LOCALID", "RANK",     "WORLD_SIZE"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](auto prefix) { return name.starts_with(prefix); }) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  for (auto& entry : environment)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return {};
}

std::vector<std::string> own_environment() {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) result.emplace_back(*entry);
  return result;
}

std::vector<std::string> target_environment(const std::vector<std::string>& original,
                                            const AgentSettings& settings) {
  std::vector<std::string> result = original;
  if (!settings.library_folder.empty())
    set(result, "LD_LIBRARY_PATH",
        in_front(settings.library_folder.string(), value_of(original, "LD_LIBRARY_PATH")));
  if (settings.agent.empty()) return result;
  std::string preloaded = settings.agent.string();
  if (!settings.plug_in.empty()) {
    preloaded += ":" + settings.plug_in.string();
    set(result, "DIOGENES_CUPTI", settings.cupti.string());
  }
  if (!settings.samples.empty()) set(result, kGpuSamplesVariable, settings.samples.string());
  if (!settings.python.empty()) preloaded += ":" + settings.python.string();
  if (!settings.values.empty()) preloaded += ":" + settings.values.string();
  if (!settings.region.empty()) {
    set(result, kRegionVariable, settings.region);
    set(result, kNvtxVariable, settings.agent.string());
  }
  set(result, "LD_PRELOAD", in_front(preloaded, value_of(original, "LD_PRELOAD")));
  set(result, kPlanVariable, settings.plan.string());
  set(result, kAgentVariable, settings.agent.string());
  // What the user has set stays: the agent then does without guards.
  if (settings.guards)
    for (const PeerCopySetting& setting : kNoPeerCopies)
      if (value_of(original, setting.name).empty()) set(result, setting.name, setting.value);
  if (value_of(original, "CUDA_INJECTION64_PATH").empty())
    set(result, "CUDA_INJECTION64_PATH", settings.agent.string());
  return result;
}

Status check_region(const std::string& region, const std::vector<std::string>& environment) {
  const std::string theirs = value_of(environment, kNvtxVariable);
  if (region.empty() || theirs.empty()) return Done{};
  return error(
      "%s=%s takes the program's NVTX calls, which go to one tool: --region cannot be used beside it; unset it, "
      "or leave out --region",
      kNvtxVariable, theirs.c_str());
}

std::vector<std::pair<std::string, std::string>> environment_that_matters(
    const std::vector<std::string>& original) {
  std::vector<std::pair<std::string, std::string>> result;
  for (auto& entry : original) {
    size_t equals = entry.find('=');
    if (equals != std::string::npos && matters(std::string_view(entry).substr(0, equals)))
      result.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace diogenes::launcher
