#include "launcher/measuring/run_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace diogenes::launcher {
namespace {

constexpr double kBaseline = 1.05, kTracing = 1.2, kMemoryTracing = 2, kFollowing = 1.3;

// No finer than an estimate can be.
std::string about(double seconds) {
  if (seconds < 20) return fmt::format("about {:.0f} s", std::max(seconds, 1.0));
  if (seconds < 100) return fmt::format("about {:.0f} s", 5 * std::round(seconds / 5));
  if (seconds < 100 * 60) return fmt::format("about {:.0f} min", seconds / 60);
  return fmt::format("about {:.1f} h", seconds / 3600);
}

}  // namespace

std::string runs_sentence(const RunsToMake& runs) {
  const int count = 2 + runs.plain_run + runs.tracing;
  const double memory_tracing = std::min(kMemoryTracing, runs.max_overhead);
  const double times = 1 + (runs.plain_run ? kBaseline : 0) + kTracing * runs.tracing + memory_tracing;
  std::string text = fmt::format("{} runs, {} in all", count, about(runs.first_run_s * times));
  if (runs.follow_values)
    text += fmt::format("; one more, {}, if needed waits cost 2% of the time in which the GPU is used",
                        about(runs.first_run_s * kFollowing));
  return text;
}

}  // namespace diogenes::launcher
