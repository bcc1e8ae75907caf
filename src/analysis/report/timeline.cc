#include "analysis/report/timeline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/program/placed_work.h"
#include "analysis/replay/recorded/make_schedule.h"

namespace diogenes {
namespace {

using replay::kNone;
using replay::Work;

const char* work_name(Work work) {
  switch (work) {
    case Work::to_device:
      return "copy to the GPU";
    case Work::to_host:
      return "copy to the CPU";
    case Work::on_device:
      return "copy or fill on the GPU";
    default:
      return "kernel";
  }
}

class NameList {
 public:
  explicit NameList(std::vector<std::string>& names) : names_(names) {}
  uint32_t of(const std::string& name) {
    auto [found, fresh] = known_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, uint32_t> known_;
};

std::string process_name(const ProcessFile& process) {
  const std::string path = process.executable;
  std::string name = path.substr(path.rfind('/') + 1);
  if (process.rank >= 0) name = "rank " + std::to_string(process.rank) + ": " + name;
  return name;
}

class TimelineBuilder {
 public:
  TimelineBuilder(const ProblemInput& input, const std::vector<Problem>& problems,
                  const std::vector<Required>& required, const std::vector<std::string>& work_names)
      : in_(input), work_names_(work_names), names_(out_.names) {
    problem_of_.resize(input.graph.threads.size());
    for (size_t i = 0; i < problems.size(); ++i)
      for (const Change& change : problems[i].changes) {
        auto& of = problem_of_[change.thread];
        if (of.size() <= change.operation) of.resize(change.operation + 1, -1);
        if (of[change.operation] < 0) of[change.operation] = static_cast<int32_t>(i);
      }
    for (size_t i = 0; i < required.size(); ++i)
      for (const RequiredCall& call : required[i].calls)
        if (call.waits) required_of_[call.site.value] = static_cast<int32_t>(i);
    for (uint32_t t = 0; t < input.graph.origin.size(); ++t) graph_thread_[input.graph.origin[t]] = t;
  }

  ReportTimeline build() {
    begin_ = INT64_MAX;
    for (const Process& process : in_.tracing.processes)
      begin_ = std::min(begin_, process.trace->process.started_ns);
    for (uint32_t p = 0; p < in_.tracing.processes.size(); ++p) add_process(p);
    return std::move(out_);
  }

 private:
  double seconds(int64_t since_begin) const { return static_cast<double>(since_begin) * 1e-9; }

  void add_process(uint32_t p) {
    const Process& process = in_.tracing.processes[p];
    const auto number = static_cast<uint32_t>(out_.processes.size());
    const size_t lanes = out_.lanes.size();
    for (uint32_t t = 0; t < process.threads.size(); ++t) add_thread(p, t, number);
    add_streams(process, number);
    if (out_.lanes.size() > lanes) out_.processes.push_back(process_name(process.trace->process));
  }

  void add_thread(uint32_t p, uint32_t t, uint32_t number) {
    const Thread& thread = in_.tracing.processes[p].threads[t];
    auto of_driver = [](const Operation& operation) { return operation.has(kDriverThread); };
    if (std::all_of(thread.operations.begin(), thread.operations.end(), of_driver)) return;
    ReportLane lane;
    lane.kind = ReportLane::Kind::thread;
    lane.process = number;
    lane.name = thread.main ? "main thread" : "thread " + std::to_string(thread.ordinal + 1);
    lane.events = thread.operations.size();
    lane.intervals.reserve(thread.operations.size());
    auto known = graph_thread_.find({p, t});
    const auto* problems = known == graph_thread_.end() ? nullptr : &problem_of_[known->second];
    for (size_t i = 0; i < thread.operations.size(); ++i) {
      const Operation& operation = thread.operations[i];
      ReportInterval& one = lane.intervals.emplace_back();
      one.begin_s = seconds(operation.begin.count - begin_);
      one.busy_s = operation.call.seconds();
      one.end_s = one.begin_s + one.busy_s;
      one.waited_s = operation.waited.seconds();
      one.name = name_of(operation.site);
      if (problems && i < problems->size()) one.problem = (*problems)[i];
      if (one.problem < 0 && operation.waited.count > 0)
        if (auto found = required_of_.find(operation.site.value); found != required_of_.end())
          one.required = found->second;
    }
    add(std::move(lane));
  }

  uint32_t name_of(SiteIndex site) {
    if (name_of_site_.size() <= site.value) name_of_site_.resize(in_.sites.size(), kNone);
    uint32_t& name = name_of_site_[site.value];
    if (name == kNone) name = names_.of(operation_name(in_.sites[site]));
    return name;
  }

  std::string name_of_work(const Thread& thread, const PlacedWork& work) const {
    if (work.work != Work::kernel || work.operation >= thread.gpu_mix.size()) return work_name(work.work);
    const uint32_t mix = thread.gpu_mix[work.operation];
    return mix < work_names_.size() && !work_names_[mix].empty() ? work_names_[mix] : work_name(work.work);
  }

  void add_streams(const Process& process, uint32_t number) {
    const PlacedStreams placed = place_gpu_work(process, replay::schedule_of(process, in_.sites));
    const int64_t shift = process.trace->process.started_ns - begin_;
    uint32_t named = 0;
    for (uint32_t s = 0; s < placed.streams.size(); ++s) {
      if (placed.streams[s].empty()) continue;
      out_.gpu_times = true;
      ReportLane lane;
      lane.kind = ReportLane::Kind::stream;
      lane.process = number;
      lane.name = s == placed.legacy ? "default stream" : "stream " + std::to_string(++named);
      lane.events = placed.streams[s].size();
      for (const PlacedWork& work : placed.streams[s]) {
        ReportInterval& one = lane.intervals.emplace_back();
        one.begin_s = seconds(work.begin + shift);
        one.end_s = seconds(work.end + shift);
        one.busy_s = one.end_s - one.begin_s;
        one.name = names_.of(name_of_work(process.threads[work.thread], work));
      }
      add(std::move(lane));
    }
  }

  void add(ReportLane lane) {
    out_.events += lane.events;
    for (const ReportInterval& one : lane.intervals) out_.duration_s = std::max(out_.duration_s, one.end_s);
    out_.lanes.push_back(std::move(lane));
  }

  const ProblemInput& in_;
  const std::vector<std::string>& work_names_;
  ReportTimeline out_;
  NameList names_;
  std::vector<std::vector<int32_t>> problem_of_;  // by thread of the graph, by operation
  std::unordered_map<uint32_t, int32_t> required_of_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> graph_thread_;
  std::vector<uint32_t> name_of_site_;
  int64_t begin_ = 0;
};

// Intervals of one slot that may become one.
using Class = std::tuple<int32_t, int32_t, uint32_t>;  // problem, required, kind of GPU work

// By ReportTimeline::names: of names of copies their own number, of all others, as kernels, one.
std::vector<uint32_t> kinds_of(const std::vector<std::string>& names) {
  std::vector<uint32_t> kinds(names.size(), kNone);
  for (uint32_t i = 0; i < names.size(); ++i)
    for (Work work : {Work::to_device, Work::to_host, Work::on_device})
      if (names[i] == work_name(work)) kinds[i] = i;
  return kinds;
}

// Which slots are left as they are: `count` of them, the same number of others between.
struct FullSlots {
  int64_t count = 0, apart = 1;
  bool has(int64_t slot) const {
    const int64_t behind_first = slot - apart / 2;
    return behind_first >= 0 && behind_first % apart == 0 && behind_first / apart < count;
  }
};

class Thinner {
 public:
  // `kinds`: kinds_of().
  Thinner(const ReportLane& lane, const std::vector<uint32_t>& kinds, double slot, FullSlots full)
      : lane_(lane), kinds_(kinds), slot_(slot), full_(full) {}

  // Visits what would be left.
  template <typename Visit>
  void each(Visit&& visit) {
    int64_t slot = -1;
    std::map<Class, ReportInterval> open;
    std::map<Class, double> longest;
    auto close = [&] {
      for (auto& [kind, one] : open) visit(one);
      open.clear();
      longest.clear();
    };
    for (const ReportInterval& one : lane_.intervals) {
      const auto its = static_cast<int64_t>(one.begin_s / slot_);
      if (its != slot) close();
      slot = its;
      if (one.end_s - one.begin_s >= slot_ || full_.has(its)) {
        visit(one);
        continue;
      }
      const Class kind{one.problem, one.required,
                       lane_.kind == ReportLane::Kind::stream ? kinds_[one.name] : uint32_t{0}};
      auto [found, fresh] = open.try_emplace(kind, one);
      double& most = longest[kind];
      if (fresh) {
        most = one.busy_s;
        continue;
      }
      unite(found->second, one);
      if (one.busy_s <= most) continue;
      most = one.busy_s;
      found->second.name = one.name;
    }
    close();
  }

 private:
  static void unite(ReportInterval& all, const ReportInterval& one) {
    all.end_s = std::max(all.end_s, one.end_s);
    all.busy_s += one.busy_s;
    all.waited_s += one.waited_s;
    all.count += one.count;
  }

  const ReportLane& lane_;
  const std::vector<uint32_t>& kinds_;
  double slot_;
  FullSlots full_;
};

size_t left_with(const ReportTimeline& timeline, double slot, FullSlots full) {
  size_t left = 0;
  const std::vector<uint32_t> kinds = kinds_of(timeline.names);
  for (const ReportLane& lane : timeline.lanes)
    Thinner(lane, kinds, slot, full).each([&](const ReportInterval&) { ++left; });
  return left;
}

constexpr int64_t kMostFullSlots = 64;

// As many as there is room for: events may be dense just there.
FullSlots choose_full_slots(const ReportTimeline& timeline, double slot, size_t most) {
  const auto slots = static_cast<int64_t>(timeline.duration_s / slot) + 1;
  for (int64_t count = std::min(kMostFullSlots, slots / 2); count > 0; count /= 2) {
    const FullSlots full{count, slots / count};
    if (left_with(timeline, slot, full) <= most) return full;
  }
  return {};
}

}  // namespace

void thin(ReportTimeline& timeline, size_t most) {
  size_t all = 0;
  for (const ReportLane& lane : timeline.lanes) all += lane.intervals.size();
  if (all <= most || timeline.duration_s <= 0) return;
  double slot = timeline.duration_s / static_cast<double>(std::max<size_t>(most, 1));
  while (slot < timeline.duration_s && left_with(timeline, slot, {}) > most / 2) slot *= 1.5;
  const FullSlots full = choose_full_slots(timeline, slot, most);
  for (int64_t i = 0, at = full.apart / 2; i < full.count; ++i, at += full.apart)
    timeline.full_at_s.push_back(static_cast<double>(at) * slot);
  timeline.full_length_s = full.count > 0 ? slot : 0;
  timeline.merged_below_s = slot;
  const std::vector<uint32_t> kinds = kinds_of(timeline.names);
  for (ReportLane& lane : timeline.lanes) {
    std::vector<ReportInterval> kept;
    Thinner(lane, kinds, slot, full).each([&](const ReportInterval& one) {
      kept.push_back(one);
      if (one.count > 1) timeline.merged += one.count;
    });
    std::stable_sort(kept.begin(), kept.end(),
                     [](const ReportInterval& a, const ReportInterval& b) { return a.begin_s < b.begin_s; });
    lane.intervals = std::move(kept);
  }
}

ReportTimeline timeline_of(const ProblemInput& input, const std::vector<Problem>& problems,
                           const std::vector<Required>& required, const std::vector<std::string>& work_names,
                           size_t most) {
  ReportTimeline timeline = TimelineBuilder(input, problems, required, work_names).build();
  thin(timeline, most);
  return timeline;
}

}  // namespace diogenes
