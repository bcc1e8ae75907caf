// What one run hands to the next: a file that the launcher writes, and the agent maps and reads.
// Layout: Plan, then HookSite[hook_count], then FollowedPlace[followed_count], then
// CorrectedSite[corrected_count]. All little-endian, no pointers. The file's folder is the stage's folder: the agent creates
// one folder a process in it (trace/format.h).
#pragma once
#include <cstdint>

#include "driver/hooking/hook_site.h"
#include "ffm/stage.h"

namespace diogenes {

inline constexpr char kPlanMagic[8] = {'D', 'I', 'O', 'P', 'L', 'A', 'N', '1'};
inline constexpr uint32_t kPlanVersion = 9;
inline constexpr const char* kPlanVariable = "DIOGENES_PLAN";  // path of the plan file, absolute
inline constexpr const char* kAgentVariable =
    "DIOGENES_AGENT";  // path of the agent, for CUDA_INJECTION64_PATH too
inline constexpr const char* kRegionVariable = "DIOGENES_REGION";  // --region: the name of the NVTX ranges
inline constexpr const char* kNvtxVariable = "NVTX_INJECTION64_PATH";  // whom NVTX gives its calls to
inline constexpr int kMostRegionBytes = 255;

// An instruction that is the first to use a result whose wait costs much: what becomes of that value is followed from
// there (trace/value_source.h).
struct FollowedPlace {
  uint64_t module;  // module_identity() (trace/module_identity.h)
  uint64_t offset;  // as in Frame
};

inline constexpr uint32_t kMostFollowedPlaces = 64;

// A place whose waits are deferred (trace/corrector_services.h).
struct CorrectedSite {
  uint64_t key;       // native_site_key() (trace/site_key.h)
  uint32_t function;  // position in the catalogue
  uint32_t how;       // HowCorrected
};

// What a transfer is beside waiting for the GPU; and what is not corrected.
enum HowCorrected : uint32_t {
  kKnowsContents = 1,  // it sends again what it sent before
  kSetsOneValue = 2,   // it sends one value
  kOnlyTimed = 4,      // of any call: it is left as it is, and where it is the first, what is timed begins
  kIsNeeded =
      8,  // of any call: what it waits for is used, if later; else a use tells that the report is wrong
};

inline constexpr uint32_t kMostCorrectedSites = 256;
inline constexpr uint64_t kEverySite = ~uint64_t{0};  // as a key: every wait and transfer, for tests

enum GpuTimesTaken : uint8_t { kNoGpuTimes, kAllGpuTimes, kGpuTimesInWindows };

inline constexpr uint64_t kHalfOfWhatIsFree = ~uint64_t{0};

struct Plan {
  char magic[8];
  uint32_t version;  // kPlanVersion
  Stage stage;
  uint8_t build_id_length;
  uint8_t build_id[20];    // of the libcuda that the hooks are for; another file is not patched
  uint8_t no_watchpoints;  // 1: they would not fire (base/watchpoints_fire.h)
  uint8_t
      gpu_times;  // of the GPU's own times, where somebody tells them (gpu_times_recorder.h): GpuTimesTaken
  // proving: 1: nothing is corrected once the program has several threads, or handlers of signals
  uint8_t leaves_threads;
  uint32_t hook_count;
  uint64_t recorded_bytes_limit;  // a process stops recording operations there, and counts what it drops
  uint64_t file_bytes;            // of the whole plan
  double max_overhead;       // memory_tracing, sync_use: run time / baseline's, beyond which nothing more is
                             // looked at; 0: no limit
  int64_t baseline_ns;       // run time of the baseline; 0: not known
  uint32_t followed_count;   // sync_use: places; 0: no value is followed
  uint32_t corrected_count;  // proving: sites
  uint64_t pool_limit;       // proving: bytes of released device memory that are kept; kHalfOfWhatIsFree
};

}  // namespace diogenes
