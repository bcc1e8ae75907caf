#include "analysis/report/coverage.h"

#include <algorithm>

#include "analysis/benefit/graph.h"
#include "analysis/findings/problem_kinds.h"
#include "analysis/replay/recorded/stand_ins.h"
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

// The GPU gets work.
bool gives_gpu_work(const DriverFunction& function) {
  switch (function.role) {
    case Role::transfer:
    case Role::fill:
    case Role::launch:
    case Role::graph_launch:
    case Role::prefetch:
      return true;
    default:
      return false;
  }
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

namespace {

// A time in a thousand parts, and in which of them something happens.
class PartsOfTime {
 public:
  PartsOfTime(Nanoseconds begin, Nanoseconds end) : begin_(begin.count), length_(end.count - begin.count) {}
  void happens(int64_t begin, int64_t end) {
    if (length_ <= 0 || end < begin_ || begin > begin_ + length_) return;
    std::fill(busy_.begin() + part(begin), busy_.begin() + part(std::min(end, begin_ + length_)) + 1, true);
  }
  // How many parts lie in stretches of `least` parts or more in which nothing happens.
  int64_t idle(int64_t least) const {
    int64_t all = 0, stretch = 0;
    for (int64_t i = 0; i <= kParts; ++i) {
      const bool ends = i == kParts || busy_[static_cast<size_t>(i)];
      if (!ends) ++stretch;
      if (ends && stretch >= least) all += stretch;
      if (ends) stretch = 0;
    }
    return all;
  }
  static constexpr int64_t kParts = 1'000;

 private:
  int64_t part(int64_t at) const {
    const double share = static_cast<double>(at - begin_) / static_cast<double>(length_);
    return std::clamp<int64_t>(static_cast<int64_t>(share * kParts), 0, kParts - 1);
  }
  int64_t begin_, length_;
  std::vector<bool> busy_ = std::vector<bool>(kParts);
};

// A stretch in which neither CPU nor GPU did anything for the other, that is so long: an import, say.
constexpr int64_t kLeastLeftOut = 100'000'000;  // ns, and a tenth of all

struct Phase {
  Nanoseconds begin, end;
};

std::optional<Phase> phase_of(const Run& tracing, const SiteTable& sites) {
  bool any = false;
  Nanoseconds begin{}, end{};
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads)
      for (const Operation& operation : thread.operations) {
        const DriverFunction* function = function_of(sites[operation.site]);
        if (!function || !is_candidate(operation)) continue;
        // Not every run records what gives work without waiting.
        if (gives_gpu_work(*function) || is_wait(operation)) {
          begin = any ? std::min(begin, operation.begin) : operation.begin;
          end = any ? std::max(end, operation.end()) : operation.end();
          any = true;
        }
      }
  return any ? std::optional(Phase{begin, end}) : std::nullopt;
}

// Nearly all work has a time that is known: else the GPU may work in any stretch.
bool knows_gpu_times(const Run& tracing, const SiteTable& sites) {
  uint64_t known = 0, unknown = 0;
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads)
      for (const Operation& operation : thread.operations)
        if (works_on_gpu(operation, sites)) ++(operation.gpu.count >= 0 ? known : unknown);
  return known > 0 && unknown <= known / 20;
}

}  // namespace

Nanoseconds gpu_phase(const Run& tracing, const SiteTable& sites) {
  const auto phase = phase_of(tracing, sites);
  return phase ? phase->end - phase->begin : Nanoseconds{};
}

Nanoseconds gpu_in_use(const Run& tracing, const SiteTable& sites) {
  const auto phase = phase_of(tracing, sites);
  if (!phase) return {};
  const auto [begin, end] = *phase;
  const Nanoseconds all = end - begin;
  if (all.count <= kLeastLeftOut || !knows_gpu_times(tracing, sites)) return all;
  PartsOfTime parts(begin, end);
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads) {
      int64_t gpu_until = 0;  // at the latest: what the thread gave runs one after the other
      for (const Operation& operation : thread.operations) {
        if (operation.gpu.count > 0)
          gpu_until = std::min(std::max(gpu_until, operation.begin.count) + operation.gpu.count, end.count);
        parts.happens(operation.begin.count, std::max(operation.end().count, gpu_until));
      }
    }
  const int64_t part = std::max<int64_t>(all.count / PartsOfTime::kParts, 1);
  const int64_t least = std::max(PartsOfTime::kParts / 10, kLeastLeftOut / part);
  return {all.count - parts.idle(least) * part};
}

}  // namespace diogenes
