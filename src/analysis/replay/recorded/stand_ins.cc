#include "analysis/replay/recorded/stand_ins.h"

#include <algorithm>
#include <span>

#include "analysis/replay/recorded/make_schedule.h"

namespace diogenes {
namespace {

// Of a stretch, so many calls at its nearer end take turns: a window's worth (agent/core/recording/gpu_time_windows.h).
constexpr size_t kMostInTurn = 1'000;

struct CallOfPath {
  int64_t at;
  RecordedCall call;
  bool recorded;
};
using Calls = std::span<const CallOfPath>;

// `before` and `behind`: the recorded stretches around; one of them may be empty.
void stand_in(Calls left_out, Calls before, Calls behind, std::vector<StandIn>& found) {
  const size_t count = left_out.size();
  const size_t of_before = behind.empty() ? count : before.empty() ? 0 : (count + 1) / 2;
  for (size_t i = 0; i < count; ++i) {
    const bool is_before = i < of_before;
    const Calls stretch = is_before ? before : behind;
    const size_t turn = (is_before ? i : count - 1 - i) % std::min(stretch.size(), kMostInTurn);
    found.push_back({left_out[i].call, stretch[is_before ? stretch.size() - 1 - turn : turn].call});
  }
}

void add_path(Calls calls, std::vector<StandIn>& found) {
  Calls before;
  for (size_t first = 0; first < calls.size();) {
    const auto end_of = [&](size_t begin) {
      size_t end = begin;
      while (end < calls.size() && calls[end].recorded == calls[begin].recorded) ++end;
      return end;
    };
    const size_t next = end_of(first);
    const Calls stretch = calls.subspan(first, next - first);
    if (stretch.front().recorded) {
      before = stretch;
    } else {
      const Calls behind = next < calls.size() ? calls.subspan(next, end_of(next) - next) : Calls{};
      if (!before.empty() || !behind.empty()) stand_in(stretch, before, behind, found);
    }
    first = next;
  }
}

}  // namespace

bool works_on_gpu(const Operation& operation, const SiteTable& sites) {
  const DriverFunction* function = function_of(sites[operation.site]);
  return function && !operation.has(kFailed) && !operation.has(kCapturing) && replay::is_gpu_work(*function);
}

std::vector<StandIn> find_stand_ins(const Process& process, const SiteTable& sites) {
  std::vector<StandIn> found;
  std::vector<std::vector<CallOfPath>> by_site(sites.size());
  bool any_left_out = false;
  for (uint32_t t = 0; t < process.threads.size(); ++t) {
    const Thread& thread = process.threads[t];
    for (uint32_t i = 0; i < thread.operations.size(); ++i) {
      const Operation& operation = thread.operations[i];
      const bool recorded = i < thread.gpu_times.size() && thread.gpu_times[i].end.count >= 0;
      const bool left_out = !recorded && operation.has(kUntimed) && works_on_gpu(operation, sites);
      any_left_out |= left_out;
      if (recorded || left_out)
        by_site[operation.site.value].push_back({operation.begin.count, {t, i}, recorded});
    }
  }
  if (!any_left_out) return found;
  for (auto& calls : by_site) {
    // Those of one thread are sorted already.
    std::stable_sort(calls.begin(), calls.end(),
                     [](const CallOfPath& one, const CallOfPath& other) { return one.at < other.at; });
    add_path(calls, found);
  }
  return found;
}

}  // namespace diogenes
