// Writes the plan that a run's agent reads (ffm/plan.h): one file, complete or not there.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/build_id.h"
#include "base/result.h"
#include "ffm/plan.h"

namespace diogenes::launcher {

struct PlanContents {
  Stage stage = Stage::baseline;
  BuildId driver;
  std::vector<HookSite> hooks;
  uint64_t recorded_bytes_limit = 0;
  GpuTimesTaken gpu_times = kNoGpuTimes;
  double max_overhead = 0;  // 0: no limit
  double baseline_s = 0;
  std::vector<FollowedPlace> followed;   // at most kMostFollowedPlaces
  std::vector<CorrectedSite> corrected;  // at most kMostCorrectedSites
  uint64_t pool_limit = kHalfOfWhatIsFree;
  bool leaves_threads = false;
};

Status write_plan(const std::filesystem::path& file, const PlanContents& contents);

// What a process may record: `wanted`, or if that is 0, 8 GiB or a quarter of what is free where the session
// lies. Several processes share a disk.
uint64_t recorded_bytes_limit(const std::filesystem::path& folder, uint64_t wanted);

}  // namespace diogenes::launcher
