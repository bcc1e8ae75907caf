// The timeline for ui.perfetto.dev and chrome://tracing, as Chrome's JSON trace events ('Trace Event Format'). In: a
// report with a timeline. Out: the whole file. A process has a track for each thread, and below it one with its
// problematic calls alone; streams of the GPU are a process of their own. Slices have the finding, its fix and what it
// saves as arguments. Slices of one track are made not to overlap, as the format demands: of merged events
// (report_timeline.h) the end is cut where the next one begins, and `busy_us` has their time.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "views/exports/exports.h"
#include "views/shared/kernel_words.h"
#include "views/shared/outline.h"
#include "views/shared/phrases.h"
#include "views/shared/places.h"

namespace diogenes {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicro = 1e6;

class PerfettoWriter {
 public:
  explicit PerfettoWriter(const Report& report) : report_(report) {
    if (report.timeline) timeline_ = *report.timeline;
    for (const ReportProblem& problem : report.problems)
      phrases_.push_back(finding_phrase({nullptr, {&problem}}));
    if (report.profile)
      for (const ReportGpuWork& work : report.profile->work) work_.emplace(work.name, &work);
  }

  std::string write() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":" + about().dump() + ",\n\"traceEvents\":[\n";
    for (size_t p = 0; p < timeline_.processes.size(); ++p) {
      put_name("process_name", cpu(p), 0, timeline_.processes[p]);
      put_name("process_name", gpu(p), 0, timeline_.processes[p] + ": GPU");
    }
    uint64_t track = 0;
    for (const ReportLane& lane : timeline_.lanes) {
      const bool thread = lane.kind == ReportLane::Kind::thread;
      const uint64_t process = thread ? cpu(lane.process) : gpu(lane.process);
      put_track(process, ++track, lane.name, lane.intervals, !thread);
      if (!thread) continue;
      std::vector<ReportInterval> marked;
      std::copy_if(lane.intervals.begin(), lane.intervals.end(), std::back_inserter(marked),
                   [](const ReportInterval& one) { return one.problem >= 0; });
      if (!marked.empty()) put_track(process, ++track, lane.name + ": can be saved", marked, false);
    }
    return text_ + "\n]}\n";
  }

 private:
  static uint64_t cpu(size_t process) { return 2 * process + 1; }
  static uint64_t gpu(size_t process) { return 2 * process + 2; }

  Json about() const {
    Json about = {{"tool", "diogenes " + report_.tool_version},
                  {"headline", headline(report_, outline(report_))}};
    if (timeline_.merged > 0) {
      about["merged_events"] = timeline_.merged;
      about["merged_below_us"] = timeline_.merged_below_s * kMicro;
    }
    return about;
  }

  void put(const Json& event) {
    if (!first_) text_ += ",\n";
    first_ = false;
    text_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void put_name(const char* what, uint64_t process, uint64_t track, const std::string& name) {
    put({{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}});
  }

  void put_track(uint64_t process, uint64_t track, const std::string& name,
                 const std::vector<ReportInterval>& intervals, bool gpu) {
    put_name("thread_name", process, track, name);
    put({{"ph", "M"},
         {"name", "thread_sort_index"},
         {"pid", process},
         {"tid", track},
         {"args", {{"sort_index", track}}}});
    for (size_t i = 0; i < intervals.size(); ++i) {
      double end = intervals[i].end_s;
      if (i + 1 < intervals.size()) end = std::min(end, intervals[i + 1].begin_s);
      put_slice(process, track, intervals[i], std::max(end, intervals[i].begin_s), gpu);
    }
  }

  // Of a kernel, or of a kind of copy, as a whole.
  void put_work(Json& arguments, const std::string& name) const {
    const auto found = work_.find(name);
    if (found == work_.end()) return;
    const ReportGpuWork& work = *found->second;
    arguments["work"] = work.id;
    if (work.path_count == 1 && work.paths.size() == 1 && work.paths[0].where)
      arguments["launched_at"] = place_text(*work.paths[0].where, "", 200);
    if (work.inside && !work.inside->hottest.empty() && work.inside->hottest[0] < work.inside->nodes.size())
      arguments["inside"] = hottest_phrase(*work.inside, work.inside->nodes[work.inside->hottest[0]]);
    if (work.what_if) arguments["gain_if_half_us"] = finite(work.what_if->half.seconds) * kMicro;
  }

  void put_slice(uint64_t process, uint64_t track, const ReportInterval& one, double end, bool gpu) {
    std::string name = one.name < timeline_.names.size() ? timeline_.names[one.name] : "";
    Json arguments = Json::object();
    const char* category = "call";
    if (one.problem >= 0 && static_cast<size_t>(one.problem) < report_.problems.size()) {
      const ReportProblem& problem = report_.problems[static_cast<size_t>(one.problem)];
      name = phrases_[static_cast<size_t>(one.problem)];
      category = "problem";
      arguments["finding"] = problem.id;
      if (problem.where) arguments["where"] = place_text(*problem.where, "", 200);
      arguments["fix"] = problem.fix;
      arguments["saves_all_calls_us"] = problem.expected_benefit_s * kMicro;
    } else if (one.required >= 0 && static_cast<size_t>(one.required) < report_.required.size()) {
      category = "needed";
      arguments["finding"] = report_.required[static_cast<size_t>(one.required)].id;
    } else if (gpu)
      put_work(arguments, name);
    if (one.waited_s > 0) arguments["waited_us"] = one.waited_s * kMicro;
    if (one.count > 1) {
      name += " (" + std::to_string(one.count) + " merged)";
      arguments["count"] = one.count;
      arguments["busy_us"] = one.busy_s * kMicro;
    }
    Json event = {{"ph", "X"},
                  {"name", name},
                  {"cat", category},
                  {"pid", process},
                  {"tid", track},
                  {"ts", one.begin_s * kMicro},
                  {"dur", (end - one.begin_s) * kMicro}};
    if (one.problem >= 0) event["cname"] = "terrible";
    if (!arguments.empty()) event["args"] = std::move(arguments);
    put(event);
  }

  const Report& report_;
  ReportTimeline timeline_;
  std::vector<std::string> phrases_;
  std::map<std::string, const ReportGpuWork*> work_;  // by name
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string to_perfetto(const Report& report) { return PerfettoWriter(report).write(); }

}  // namespace diogenes
