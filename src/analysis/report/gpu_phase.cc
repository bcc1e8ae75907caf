#include "analysis/report/gpu_phase.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/benefit/graph.h"
#include "analysis/findings/problem_kinds.h"
#include "analysis/replay/recorded/stand_ins.h"

namespace diogenes {
namespace {

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
