#include "analysis/replay/recorded/gpu_times.h"

#include <algorithm>

#include "analysis/replay/recorded/calibration.h"
#include "analysis/replay/recorded/stand_ins.h"

namespace diogenes {
namespace {

using replay::kNone;

// What is so many times, and so much, above its site's median took that long in one run, maybe, and not in
// another.
constexpr int64_t kFarAbove = 3, kShortestFarAbove = 10'000;
static_assert(kLatestTime <= (INT64_MAX - kShortestFarAbove) / kFarAbove);

bool is_far_above(Nanoseconds time, int64_t usual) {
  return time.count > kFarAbove * usual + kShortestFarAbove;
}

using TimesBySite = std::vector<std::vector<int64_t>>;

void add_times(const Process& process, TimesBySite& by_site) {
  for (const Thread& thread : process.threads)
    for (size_t i = 0; i < thread.gpu_times.size(); ++i)
      if (const RecordedGpuTime& time = thread.gpu_times[i]; time.end.count >= 0)
        by_site[thread.operations[i].site.value].push_back((time.end - time.begin).count);
}

// The median of each site; -1: nothing is known of it.
std::vector<int64_t> usual_times(TimesBySite by_site) {
  std::vector<int64_t> usual(by_site.size(), -1);
  for (size_t site = 0; site < by_site.size(); ++site) {
    auto& times = by_site[site];
    if (times.empty()) continue;
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    usual[site] = *middle;
  }
  return usual;
}

bool launches_graph(const Operation& operation, const SiteTable& sites) {
  const DriverFunction* function = function_of(sites[operation.site]);
  return function && function->role == Role::graph_launch;
}

void leave_out_late_ends(Thread& thread, const std::vector<int64_t>& usual, const SiteTable& sites) {
  std::vector<bool> late(thread.gpu_times.size());
  for (size_t i = thread.gpu_times.size(); i-- > 0;) {
    const Operation& left_out = thread.operations[i];
    if (!left_out.has(kUntimed) || thread.gpu_times[i].end.count >= 0 || !works_on_gpu(left_out, sites))
      continue;
    // Backwards from here, to the first that is not late.
    for (size_t j = i; j-- > 0;) {
      Operation& before = thread.operations[j];
      if (!works_on_gpu(before, sites)) continue;
      RecordedGpuTime& time = thread.gpu_times[j];
      if (time.end <= left_out.begin || !launches_graph(before, sites) ||
          !is_far_above(time.end - time.begin, usual[before.site.value]))
        break;
      time = {};
      before.flags |= kUntimed;
      late[j] = true;
    }
  }
  std::erase_if(thread.gpu_pieces, [&](const GpuPiece& piece) { return late[piece.operation]; });
}

// What one process of the GPU run recorded.
replay::KnownTimes times_of(const Process& process, const replay::Schedule& schedule) {
  replay::KnownTimes known;
  const int64_t origin = process.trace->process.started_ns;
  known.of.resize(schedule.gpu_operations);
  for (const replay::ThreadSchedule& thread : schedule.threads) {
    const auto& times = process.threads[thread.thread].gpu_times;
    for (const replay::Node& node : thread.nodes) {
      if (node.gpu == kNone || node.operation >= times.size() || times[node.operation].end.count < 0)
        continue;
      known.of[node.gpu] = {times[node.operation].begin.count - origin,
                            times[node.operation].end.count - origin};
      known.any = true;
    }
  }
  return known;
}

// `recorded`: the same process, of the same run.
void fill_what_was_left_out(Process& process, const Process& recorded, const SiteTable& sites) {
  for (const auto& [left_out, known] : find_stand_ins(recorded, sites)) {
    if (left_out.thread >= process.threads.size()) return;
    auto& operations = process.threads[left_out.thread].operations;
    if (left_out.operation >= operations.size() || !operations[left_out.operation].has(kUntimed)) return;
    const RecordedGpuTime& time = recorded.threads[known.thread].gpu_times[known.operation];
    operations[left_out.operation].gpu = time.end - time.begin;
  }
}

}  // namespace

bool tells_gpu_times(const Run& run) {
  return std::any_of(run.processes.begin(), run.processes.end(), [](const Process& process) {
    return process.trace->process.gpu_times != GpuTimesState::none;
  });
}

void leave_out_late_ends(Run& run, const SiteTable& sites) {
  for (Process& process : run.processes) {
    TimesBySite by_site(sites.size());
    add_times(process, by_site);
    const std::vector<int64_t> usual = usual_times(std::move(by_site));
    for (Thread& thread : process.threads) leave_out_late_ends(thread, usual, sites);
  }
}

GpuTimesFound join_gpu_times(Run& tracing, const Run& gpu_run, const SiteTable& sites,
                             const replay::Machine& assumed, const replay::Schedules& made) {
  GpuTimesFound found;
  found.machine = assumed;
  uint32_t most = 0;
  for (size_t p = 0; p < gpu_run.processes.size(); ++p) {
    const Process& process = gpu_run.processes[p];
    const auto schedule = made.empty()
                              ? std::make_shared<const replay::Schedule>(replay::schedule_of(process, sites))
                              : made[p];
    const replay::KnownTimes times = times_of(process, *schedule);
    if (!times.any || schedule->gpu_operations < most) continue;
    most = schedule->gpu_operations;
    found.machine = machine_from(*schedule, times, assumed);
  }
  if (most == 0) return found;
  TimesBySite by_site(sites.size());
  for (const Process& process : gpu_run.processes) add_times(process, by_site);
  const std::vector<int64_t> usual = usual_times(std::move(by_site));
  join_operations(tracing, gpu_run, sites,
                  [](Operation* operation, const Process&, const Thread& thread, uint32_t index) {
                    if (!operation || index >= thread.gpu_times.size()) return;
                    const RecordedGpuTime& time = thread.gpu_times[index];
                    if (time.end.count >= 0) operation->gpu = time.end - time.begin;
                  });
  // Only a profile leaves calls out, and its run is both.
  for (size_t p = 0; p < std::min(tracing.processes.size(), gpu_run.processes.size()); ++p)
    fill_what_was_left_out(tracing.processes[p], gpu_run.processes[p], sites);
  for (Process& process : tracing.processes)
    for (Thread& thread : process.threads)
      for (Operation& operation : thread.operations) {
        if (!works_on_gpu(operation, sites)) continue;
        const int64_t of_site = usual[operation.site.value];
        if (operation.gpu.count < 0 && of_site >= 0) operation.gpu = {of_site};
        operation.gpu_outlier = is_far_above(operation.gpu, std::max<int64_t>(of_site, 0));
        ++(operation.gpu.count >= 0 ? found.known : found.unknown);
      }
  return found;
}

}  // namespace diogenes
