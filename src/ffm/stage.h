// The stages of feed-forward measurement (SC'19, section 3). Each run is instrumented only where the runs
// before it showed a reason to.
#pragma once
#include <cstdint>

namespace diogenes {

// gpu_times: the run of tracing again, with the GPU's own times where they can be had. proving: the program with the
// report's fixes applied (trace/corrector_services.h).
enum class Stage : uint8_t { baseline = 1, tracing, memory_tracing, sync_use, analysis, gpu_times, proving };

// The stage's name in session folders, reports and messages. Stages that run the program come first.
constexpr const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::baseline:
      return "baseline";
    case Stage::tracing:
      return "tracing";
    case Stage::memory_tracing:
      return "memory-tracing";
    case Stage::sync_use:
      return "sync-use";
    case Stage::analysis:
      return "analysis";
    case Stage::gpu_times:
      return "gpu-times";
    case Stage::proving:
      return "proving";
  }
  return "unknown";
}

}  // namespace diogenes
