// One `diogenes run`: the session, the driver, the program, and what each stage hands to the next. In:
// RunOptions. Out: a session folder with session.json, one folder a stage and report.json; the report as
// text; the exit status.
//
// `diogenes profile` has one run, of tracing with GPU times: open() -> profile() -> analysis().
//
// States: open() -> [plain_run()] -> baseline() -> tracing() -> memory_tracing() -> analysis(). A stage that
// returns false ends the runs: the program cannot be run, never used CUDA, was interrupted, or ended in
// another way than in the first run. analysis() then reports what the earlier stages gave, where there is
// anything.
#pragma once
#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/runs/further_runs.h"
#include "base/result.h"
#include "launcher/command_line/messages.h"
#include "launcher/installed/driver_choice.h"
#include "launcher/installed/installation.h"
#include "launcher/measuring/disk_reserve.h"
#include "launcher/measuring/plan_file.h"
#include "launcher/measuring/resume.h"
#include "launcher/measuring/session_lock.h"
#include "launcher/measuring/stage_outcome.h"
#include "launcher/measuring/target_environment.h"
#include "launcher/measuring/window_control.h"
#include "launcher/options.h"
#include "launcher/process/program_file.h"
#include "launcher/process/standard_streams.h"
#include "launcher/process/target_process.h"
#include "trace/session.h"

namespace diogenes::launcher {

class Measurement {
 public:
  explicit Measurement(const RunOptions& options);
  ~Measurement();  // removes a --report file that nothing was written to
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  bool open();  // a new session, or with --resume one that was begun
  bool plain_run();
  bool baseline();
  bool tracing();
  bool memory_tracing();
  // The only run of a session that is no more than a profile.
  bool profile();
  // Of a profile in windows, in place of analysis(): each window had its report when it was closed.
  void windows();
  // `complete`: all stages ran. Runs for GPU times and first uses follow where stages 2 and 3 differ too much
  // (analysis/runs/further_runs.h), and then it is made again.
  void analysis(bool complete);

  int exit_status() const { return exit_status_; }

 private:
  bool refuse(int status, const std::string& text);  // says it; false
  bool begin_session();
  bool resume_session();  // measurement_resume.cc
  Result<ChosenDriver> driver_of_session();
  bool adopt_driver(const ChosenDriver& driver);
  bool is_kept(const std::string& name) const;  // the run was complete before --resume
  bool open_report_file();

  // Runs the program once under `name` (also the folder). `settings.plan` empty: without the agent.
  bool run_program(const std::string& name, const AgentSettings& settings);
  bool judge(const std::string& name, const TargetResult& result);
  void record_windows(WindowControl control, const std::atomic<bool>& runs);
  void report_window();
  bool prepare_run(const std::string& name);
  struct GpuTimesSetting {
    bool take = false;
    std::filesystem::path cupti;  // empty: the driver tells them by itself
  };
  struct StageSettings {
    int number = 1;  // of the stage's runs
    GpuTimesSetting gpu_times;
    std::vector<FollowedPlace> followed;
  };
  void find_gpu_times(int cuda_version);
  bool reads_python() const;
  std::string run_heading(const std::string& name) const;
  bool run_stage(Stage stage, const char* what, std::vector<HookSite> hooks, StageSettings settings);
  bool run_stage(Stage stage, const char* what, std::vector<HookSite> hooks) {
    return run_stage(stage, what, std::move(hooks), {});
  }
  bool further_runs(const FurtherRuns& further);  // false: none was needed
  std::optional<Report> analyse_runs(FurtherRuns* further);
  std::string outcome_text() const;
  void say_how_long() const;
  double reference_runtime() const;  // of the plain run, or else the baseline; 0: none yet

  bool first_run_is_good();
  bool nothing_to_measure();
  bool measure_other_driver(const StageOutcome& outcome);
  void check_outcome(Stage stage, const StageOutcome& outcome);
  void check_waiting_functions();
  void print_text(const std::string& text);
  void notice(const std::string& text);
  void save();  // session.json; a failure is said once

  RunOptions options_;
  int runs_planned_;
  GpuTimesSetting gpu_times_;
  Installation installation_;
  FoundProgram program_;
  std::vector<std::string> environment_;
  std::filesystem::path folder_;               // absolute
  std::filesystem::path shown_folder_;         // as the user would type it
  std::optional<ChosenDriver> chosen_driver_;  // of a new session
  std::optional<DriverHooks> driver_;
  std::optional<StandardStreams> streams_;
  SessionLock lock_;
  DiskReserve reserve_;
  Session session_;
  size_t kept_runs_ = 0;                                     // of session_.runs: complete before --resume
  std::shared_future<std::vector<GpuCodeRecord>> gpu_code_;  // of a profile: found while its report is made
  Progress progress_;
  int report_fd_ = -1;
  bool report_file_is_new_ = false, report_written_ = false;
  int exit_status_ = 0;
  int first_signal_ = 0;
  bool measured_ = false;  // there is something to analyse
  bool save_failed_ = false;
};

}  // namespace diogenes::launcher
