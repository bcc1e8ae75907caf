#include "analysis/report/coverage.h"

#include <algorithm>

#include "analysis/benefit/graph.h"
#include "analysis/findings/problem_kinds.h"
#include "analysis/symbols/wording.h"

namespace diogenes {
namespace {

struct ReasonText {
  uint32_t bit;
  const char *code, *use;
};

constexpr const char* kNotWatched = "its result could not be watched";

constexpr ReasonText kReasons[] = {
    {kCpuAccess, "cpu-access", "the CPU uses its result"},
    {kSourceReuse, "source-reuse", "the CPU writes its source again"},
    {kSystemCall, "system-call", "its result goes into a system call"},
    {kDeviceReuse, "device-reuse", "its result goes to a GPU again"},
    {kOrder, "order", "it orders GPU work that no stream or event orders"},
    {kSharedMemory, "shared-memory", "other processes or devices can reach its result"},
    {kSmallRange, "small-range", kNotWatched},
    {kExposed, "exposed", kNotWatched},
    {kGuardRefused, "guard-refused", kNotWatched},
    {kUndecoded, "undecoded", kNotWatched},
    {kDriverAccess, "driver-access", kNotWatched},
    {kHostFunction, "host-function", "a host function runs in its stream"},
    {kUnresolved, "unresolved", ""},
    {kUnknownMemory, "unknown-memory", kNotWatched},
    {kOwnWork, "own-work", ""},
    {kOtherThread, "other-thread", "another thread uses its result, or may use it"},
    {kLetsGo, "lets-go", "after it, the CPU lets GPU work go on"},
    {kOverBudget, "over-budget", ""},
    {kReleased, "released", "memory that it writes is released behind it, and can be given out again"},
};

const ReasonText* text_of(uint32_t bit) {
  for (const ReasonText& reason : kReasons)
    if (reason.bit == bit) return &reason;
  return nullptr;
}

std::string run_trouble(const StageRun& run) {
  if (run.state == "interrupted") return run.name + ": the run was interrupted";
  if (run.state == "timeout") return run.name + ": the run took longer than --timeout";
  if (run.state == "typed") return run.name + ": the program read what was typed, so no further run was made";
  if (run.state == "running") return run.name + ": the run did not end while Diogenes was there";
  if (run.state != "complete") return run.name + ": the run failed";
  if (run.signal != 0) return run.name + ": signal " + std::to_string(run.signal) + " killed the program";
  return "";
}

}  // namespace

const char* reason_code(uint32_t bit) {
  const ReasonText* text = text_of(bit);
  return text ? text->code : "unknown";
}

const char* use_words(uint32_t bit) {
  const ReasonText* text = text_of(bit);
  return text ? text->use : "";
}

std::vector<std::pair<std::string, uint64_t>> by_code(const std::map<uint32_t, uint64_t>& by_bit) {
  std::vector<std::pair<std::string, uint64_t>> counts;
  for (auto [bit, count] : by_bit) counts.emplace_back(reason_code(bit), count);
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

ReportCoverage coverage_of(const Run& tracing) {
  ReportCoverage coverage;
  std::map<uint32_t, uint64_t> not_judged;
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads)
      for (const Operation& operation : thread.operations) {
        if (!is_program_wait(operation)) continue;
        ++coverage.synchronizations;
        if (!is_not_judged(operation.reasons)) {
          ++coverage.judged;
          continue;
        }
        for (uint32_t bit = 1; bit != 0; bit <<= 1)
          if ((operation.reasons & kUnwatchedReasons & bit) != 0) ++not_judged[bit];
      }
  coverage.not_judged = by_code(not_judged);
  return coverage;
}

std::vector<std::string> what_is_missing(const Session& session, bool has_tracing, bool has_memory_tracing,
                                         const ReportCoverage& coverage) {
  std::vector<std::string> missing;
  for (const StageRun& run : session.runs)
    if (std::string trouble = run_trouble(run); !trouble.empty()) missing.push_back(std::move(trouble));
  if (!has_tracing)
    missing.emplace_back("the tracing run is not there, so nothing is known of what the program did");
  if (!has_memory_tracing)
    missing.emplace_back(
        "the memory-tracing run is not there, so no synchronization and no transfer was judged");
  const uint64_t unknown = coverage.synchronizations - coverage.judged;
  if (has_memory_tracing && 20 * unknown > coverage.synchronizations)
    missing.push_back(grouped(unknown) + " of " +
                      counted(coverage.synchronizations, "synchronization", "synchronizations") +
                      " could not be judged");
  return missing;
}

}  // namespace diogenes
