// What the runs of a session say of the same operations, joined: times from one run, verdicts and first uses from
// others. In: a session's folder. Out: the tracing run with all of that, its graph and its model.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/followed_values.h"
#include "analysis/kernel_samples/sampled_code.h"
#include "analysis/necessity/judge_process.h"
#include "analysis/program/gpu_work.h"
#include "analysis/replay/models.h"
#include "analysis/replay/recorded/gpu_times.h"
#include "analysis/report/report.h"
#include "analysis/runs/join.h"
#include "analysis/runs/run.h"
#include "trace/cpu_samples.h"
#include "trace/session.h"

namespace diogenes {

// The session's run of that name; null: there was none.
const StageRun* run_of(const Session& session, const std::string& name);

class JoinedRuns {
 public:
  struct Choices {
    std::string tracing_run = "tracing";  // which of those that repeat each other
    JudgeProcess judge = nullptr;         // for tests; null: the judges
    necessity::Check check{};
    uint32_t window = 0;  // AnalysisOptions::window
  };
  JoinedRuns(std::filesystem::path folder, const Session& session, Choices choices)
      : folder_(std::move(folder)), session_(session), choices_(std::move(choices)) {}
  JoinedRuns(const JoinedRuns&) = delete;
  JoinedRuns& operator=(const JoinedRuns&) = delete;

  // Once. Takes what is there. `called`: a place in words, for notices. Of a profile without graph, replay
  // and GPU times.
  void load(const std::function<std::string(const Site&)>& called);
  // Those of a profile, which nothing but what-ifs needs. Touches nothing else.
  void build_model() { build(nullptr); }
  // Of a profile, once after load(): names can be looked up meanwhile.
  void take_gpu_times_of_profile();
  // False: the verdicts do not hold together. After load(), once.
  bool verdicts_hold();

  SiteTable sites;
  std::optional<Run> tracing, memory_tracing, sync_use;  // the last two without their operations
  std::optional<Run> baseline;                           // where there is no `tracing`: what it ran on
  std::vector<SiteVerdicts> verdicts;                    // by site, as the others
  std::vector<SiteFirstUses> first_uses;
  std::vector<CallContext> call_contexts;
  std::vector<BroughtValues> brought;
  std::vector<FollowedValues> followed;
  replay::Schedules schedules;  // of `tracing`, as graph and replay made of it
  EventGraph graph;
  std::optional<Replay> replay;  // where there is `tracing`
  double unmatched = 0;        // of the memory tracing run's operations, which share the tracing run has not
  bool calibrated = false;     // of some of the GPU's work it is known when it was
  bool has_gpu_run = false;    // by a run of its own
  std::optional<Run> gpu_run;  // that one, without its operations
  std::optional<ReportWindow> window;               // the profile is of that one alone
  std::optional<CpuSamples> cpu_samples;            // of the tracing run, where they were taken
  std::optional<GpuWorkFound> gpu_work;             // where GPU times were taken
  std::vector<ProcessGpuSamples> gpu_samples;       // by process, of the run that took them; empty: none did
  std::map<std::string, SampledTime> sampled_time;  // of those, by kernel
  std::vector<ReportNotice> notices;
  std::vector<std::string> lost;  // what runs could not record

 private:
  std::string name_of(Stage stage) const;
  std::optional<Run> load_stage(Stage stage, Load what);
  std::filesystem::path stage_folder(const std::string& name) const;
  std::optional<Window> choose_window();
  std::optional<Run> load_unnoted(Stage stage, Load what, const std::optional<Window>& only = {});
  void note(const Run& run, Stage stage);
  void load_gpu_times();
  void load_profile();
  void take_gpu_samples(Run& run);
  void make_schedules();
  void take_gpu_times(const Run& run);
  void build(const Run* memory_tracing_run);
  void join_memory_tracing(const std::function<std::string(const Site&)>& called);

  std::filesystem::path folder_;
  const Session& session_;
  Choices choices_;
  std::optional<GpuTimesFound> gpu_times_;  // of stage 3's run
  replay::Machine machine_ = kAssumedMachine;
};

}  // namespace diogenes
