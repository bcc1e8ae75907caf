// What one run hands to the next: a file that the launcher writes, and the agent maps and reads.
// Layout: Plan, then HookSite[hook_count], SiteKey[site_count], PartKey[part_count]. All little-endian, no
// pointers. The file's folder is the stage's folder: the agent creates one folder a process in it
// (trace/format.h).
#pragma once
#include <cstdint>

#include "driver/hook_site.h"
#include "ffm/stage.h"

namespace diogenes {

inline constexpr char kPlanMagic[8] = {'D', 'I', 'O', 'P', 'L', 'A', 'N', '1'};
inline constexpr uint32_t kPlanVersion = 4;
inline constexpr const char* kPlanVariable = "DIOGENES_PLAN";  // path of the plan file, absolute
inline constexpr const char* kAgentVariable =
    "DIOGENES_AGENT";  // path of the agent, for CUDA_INJECTION64_PATH too

// So many runs stage 3 takes at most, where small results need more watchpoints than there are.
inline constexpr uint8_t kWatchRuns = 6;

// Where the user asks for it, small ranges are shared out among so many further runs of stage 3.
inline constexpr uint8_t kWatchShares = 6;

// A call site: a driver function reached over one stack, the same in every run of the same binaries.
// FNV-1a (64 bit) over the catalogue index, then for each frame from the innermost outside the driver to the
// outermost: the module's build-id (or its path's last component where it has none) and the frame's offset.
// trace/site_key.h.
using SiteKey = uint64_t;

// One part of a small range (trace/format.h, WatchedRecord).
using PartKey = uint64_t;
constexpr PartKey part_key(uint64_t range, uint32_t part) { return range + part * 0x9e3779b97f4a7c15; }

struct Plan {
  char magic[8];
  uint32_t version;  // kPlanVersion
  Stage stage;
  uint8_t build_id_length;
  uint8_t build_id[20];  // of the libcuda that the hooks are for; another file is not patched
  uint8_t watch_run;   // stage memory_tracing: which run this is, from 0. The first watches the first part of
                       // small ranges, the others the plan's parts, and nothing else
  uint8_t watch_runs;  // ... of how many at most; 0: as 1
  uint8_t watch_share;  // memory_tracing: the share of the small ranges that this run watches; kWatchShares:
                        // all of them
  uint8_t facts;       // stages 3 and 4: 1: facts are recorded, and judged in the analysis
  uint8_t gpu_times;   // 1: the GPU's own times are taken where somebody tells them (agent/gpu_times.h)
  uint32_t hook_count;
  uint32_t part_count;            // ascending; of further runs of memory_tracing
  uint32_t site_count;            // stage sync_use: the needed synchronizations. Else: 0
  uint64_t recorded_bytes_limit;  // a process stops recording operations there, and counts what it drops
  uint64_t file_bytes;            // of the whole plan
};

}  // namespace diogenes
