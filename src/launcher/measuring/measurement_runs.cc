// Measurement, one run of the program: its plan, the run itself, and what it says of the stage.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "analysis/analyse.h"
#include "base/in_background.h"
#include "launcher/installed/jit_check.h"
#include "launcher/installed/machine_load.h"
#include "launcher/installed/python_in_use.h"
#include "launcher/measuring/measurement.h"
#include "launcher/measuring/prepare_command.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/process/signals_blocked.h"
#include "launcher/sampling/cpu_sampler.h"
#include "launcher/sampling/gpu_clock_reader.h"
#include "launcher/sampling/python_sampler.h"
#include "trace/cpu_samples.h"
#include "views/text/text.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

// A run of the program that hangs under measurement must not hang for ever: without --timeout, this is the
// limit of every run after the first.
Nanoseconds guard_limit(double baseline_s) { return {static_cast<int64_t>((20 * baseline_s + 60) * 1e9)}; }

// Of --max-overhead: 1.3 of the default's 3.
constexpr double kFollowingShare = 1.3 / 3;

}  // namespace

// What the next run is called: `run 2 of 3, tracing`. How many there will be is known after stage 3.
std::string Measurement::run_heading(const std::string& name) const {
  return fmt::format("run {} of {}, {}", session_.runs.size() + 1,
                     std::max(runs_planned_, static_cast<int>(session_.runs.size()) + 1), name);
}

bool Measurement::run_stage(Stage stage, const char* what, std::vector<HookSite> hooks,
                            StageSettings settings) {
  const std::string name = run_name(stage, settings.number);
  if (is_kept(name)) return true;
  const fs::path stage_folder = folder_ / name;
  const bool first = session_.runs.empty();
  progress_.begin(run_heading(name), what,
                  first && (is_terminal(STDOUT_FILENO) || is_terminal(STDERR_FILENO)));
  // A run that only follows values needs few occurrences of a call.
  const double overhead = settings.followed.empty() ? options_.max_overhead
                                                    : std::max(1.1, options_.max_overhead * kFollowingShare);
  const fs::path& cupti = settings.gpu_times.cupti;
  const fs::path samples = settings.gpu_times.take && options_.samples && !options_.in_windows()
                               ? installation_.gpu_samples
                               : fs::path();
  const bool part = options_.profile && options_.gpu_times != "all";
  std::error_code failed;
  fs::create_directory(stage_folder, failed);
  Status planned = write_plan(
      stage_folder / "plan", {.stage = stage,
                              .driver = driver_->build_id,
                              .hooks = std::move(hooks),
                              .recorded_bytes_limit = recorded_bytes_limit(folder_, options_.max_trace_bytes),
                              .gpu_times = !settings.gpu_times.take ? kNoGpuTimes
                                           : part                   ? kGpuTimesInWindows
                                                                    : kAllGpuTimes,
                              .max_overhead = overhead,
                              .baseline_s = reference_runtime(),
                              .followed = settings.followed});
  if (!planned) {
    progress_.end("failed");
    if (first) return refuse(kOwnFailure, planned.error().c_str());
    notice(planned.error().c_str());
    return false;
  }
  const fs::path python = reads_python() ? installation_.python : fs::path();
  bool more = run_program(name, {.agent = installation_.agent,
                                 .plan = stage_folder / "plan",
                                 .library_folder = driver_->driver.library_folder,
                                 .plug_in = cupti.empty() ? fs::path() : installation_.gpu_times,
                                 .cupti = cupti,
                                 .samples = samples,
                                 .python = python,
                                 .values = settings.followed.empty() ? fs::path() : installation_.values,
                                 .region = stage == Stage::tracing ? options_.region : "",
                                 .guards = stage == Stage::memory_tracing || stage == Stage::sync_use});
  progress_.end(outcome_text());
  StageOutcome outcome = read_stage_outcome(stage_folder, driver_->build_id_text);
  if (outcome.used_cuda > 0) check_outcome(stage, outcome);
  if (outcome.used_cuda > 0 && stage == Stage::baseline) measured_ = true;
  // Beside another run it would disturb that.
  if (options_.profile)
    gpu_code_ = in_background([stage_folder] { return files_to_compile(stage_folder); }).share();
  else if (stage == Stage::tracing && settings.number == 1)
    session_.gpu_code = files_to_compile(stage_folder);
  save();
  return more;
}

// In all runs but the first, or their stacks would differ. The only run of a profile may be that of a shell, or of a script,
// which starts an interpreter later.
bool Measurement::reads_python() const {
  if (!fs::exists(installation_.python)) return false;
  if (options_.profile) return true;
  return !session_.runs.empty() && runs_python(folder_ / stage_name(Stage::baseline));
}

bool Measurement::prepare_run(const std::string& name) {
  const Prepared prepared = run_prepare_command(options_.prepare, environment_);
  if (prepared.problem.empty()) return true;
  if (prepared.interrupted_by != 0) exit_status_ = 128 + prepared.interrupted_by;
  const std::string problem =
      fmt::format("the --prepare command before the {} run {}; no further runs", name, prepared.problem);
  if (session_.runs.empty()) return refuse(kOwnFailure, problem);
  notice(problem);
  return false;
}

bool Measurement::run_program(const std::string& name, const AgentSettings& settings) {
  if (!prepare_run(name)) return false;
  reserve_.keep(folder_);
  const bool first = session_.runs.empty();
  const fs::path run_folder = folder_ / name;
  std::error_code failed;
  fs::create_directory(run_folder, failed);
  session_.runs.push_back({.name = name, .folder = settings.plan.empty() ? "" : name, .state = "running"});
  save();

  // The first run is the user's own: it goes on if we are killed. Later ones work for us alone.
  Target target{.program = program_.path,
                .arguments = options_.command,
                .environment = target_environment(environment_, settings),
                .ends_with_us = !first};
  if (options_.timeout_s > 0)
    target.limit = {static_cast<int64_t>(options_.timeout_s * 1e9)};
  else if (!first)
    target.limit = guard_limit(session_.runs.front().runtime_s);
  if (is_terminal(STDERR_FILENO)) target.every_second = [this](Nanoseconds time) { progress_.elapsed(time); };
  streams_->route(target, run_folder);
  const OthersLoad others;
  PythonSampler python(run_folder);
  CpuSampler sampler(run_folder / kCpuSamplesFile,
                     {.is_wanted = [&python] { return python.is_wanted(); },
                      .call = [&python](uint32_t pid, uint32_t tid) { python.at_sample(pid, tid); }});
  const bool samples = options_.profile && !options_.in_windows() && sampler.start();
  if (options_.profile && !options_.in_windows() && !samples) python.start();
  GpuClockReader clocks(run_folder / kGpuClocksFile, settings.library_folder);
  if (!settings.samples.empty()) target.started = [&clocks] { clocks.start(); };
  std::future<void> window;
  std::atomic<bool> runs{true};
  if (options_.in_windows()) {
    auto control = WindowControl::make(run_folder);
    if (!control) return refuse(kOwnFailure, control.error().c_str());
    const SignalsBlocked blocked;
    if (!options_.wait)
      window = in_background([this, &runs, own = std::make_shared<WindowControl>(std::move(*control))] {
        record_windows(std::move(*own), runs);
      });
  }
  Result<TargetResult> result = run_target(target);
  runs = false;
  if (window.valid()) window.get();
  if (samples) sampler.stop();
  python.stop();
  clocks.stop();
  if (options_.profile && !sampler.problem().empty())
    notice(fmt::format(
        "CPU samples: not taken, because {}; time between two calls is shown at the innermost function that made both, except in Python",
        sampler.problem()));
  if (!python.problem().empty())
    notice(fmt::format("lines of Python between calls: not read, because {}", python.problem()));
  if (sampler.lost() > 0) notice(fmt::format("CPU samples: {} were lost", sampler.lost()));
  if (!result) {
    session_.runs.back().state = "failed";
    if (first) return refuse(kOwnFailure, result.error().c_str());
    notice(fmt::format("{}: {}", name, result.error().c_str()));
    return false;
  }
  if (result->exec_error != 0 && first) {
    fs::remove_all(folder_, failed);
    FoundProgram problem = exec_problem(program_.path, result->exec_error);
    return refuse(problem.status, problem.problem);
  }
  session_.runs.back().others_busy = others.processors_taken(result->cpu_s);
  session_.runs.back().processors = others.processors();
  return judge(name, *result);
}

// Beside the run.
void Measurement::record_windows(WindowControl control, const std::atomic<bool>& runs) {
  constexpr double kStep = 0.02, kForEver = 1e9;
  constexpr double kLongestCount = 5;  // s; what comes right before is most like what is recorded
  const double seconds = options_.duration_s > 0 ? options_.duration_s : kForEver;
  Nanoseconds next = monotonic_now() + Nanoseconds{static_cast<int64_t>(options_.delay_s * 1e9)};
  do {
    const double counted_s = std::min(std::max((next - monotonic_now()).seconds(), 0.0) / 2, kLongestCount);
    while (runs && (next - monotonic_now()).seconds() > counted_s)
      std::this_thread::sleep_for(std::chrono::duration<double>(kStep));
    if (!runs) return;
    Result<Window> window =
        control.record({static_cast<int64_t>(counted_s * 1e9)}, {static_cast<int64_t>(seconds * 1e9)},
                       [&runs] { return runs.load(); });
    if (!window && !runs) return;  // windows() says so
    if (!window) return say(window.error().c_str());
    report_window();
    next = Nanoseconds{window->begin_ns + static_cast<int64_t>(options_.each_s * 1e9)};
  } while (options_.each_s > 0 && runs);
}

// The last one.
void Measurement::report_window() {
  Result<Report> report = analyse(folder_, {.model = model_of(options_.model)});
  if (!report) return say(report.error().c_str());
  const int fd = report_fd_ >= 0 ? report_fd_ : STDERR_FILENO;
  print_text(to_text(*report, {.top = options_.top,
                               .width = columns(fd),
                               .color = colors_wanted(fd),
                               .working_folder = session_.working_folder,
                               .session = shown_folder_.string()}));
}

bool Measurement::judge(const std::string& name, const TargetResult& result) {
  const bool first = session_.runs.size() == 1;
  const char* without_more =
      name == stage_name(Stage::gpu_times) ? "its times count as far as it got" : "later stages were not run";
  StageRun& run = session_.runs.back();
  run.runtime_s = result.runtime.seconds();
  run.cpu_s = result.cpu_s;
  run.exit_status = result.exit_status;
  run.signal = result.signal;
  run.state = "complete";
  for (const std::string& difference : streams_->finish(result))
    run.output_difference += (run.output_differs() ? "; " : "") + difference;
  if (first) {
    session_.exit_status = exit_status_ = result.exit_status;
    first_signal_ = result.signal;
    session_.streams = streams_->record();
  }
  if (result.interrupted_by != 0) {
    run.state = "interrupted";
    if (!first) exit_status_ = 128 + result.interrupted_by;  // the first run's is the program's own
    notice(
        fmt::format("{}: interrupted by signal {}; later stages were not run", name, result.interrupted_by));
    return false;
  }
  if (result.timed_out) {
    run.state = "timeout";
    if (first) exit_status_ = kTimeout;
    notice(
        options_.timeout_s > 0
            ? fmt::format("{}: ended after the {} s of --timeout; {}", name, options_.timeout_s, without_more)
            : fmt::format(
                  "{}: ended after {:.0f} s, 20 times the first run and a minute: did it hang? {}; --timeout "
                  "SECONDS sets another limit",
                  name, result.runtime.seconds(), without_more));
    if (first) say(session_.notices.back());
    return false;
  }
  if (first && result.read_terminal) {
    run.state = "typed";
    notice(fmt::format(
        "{}: something was typed, which later runs cannot read again, so they were not made; give it as a file: `diogenes "
        "run -- {} < FILE`, or `< /dev/null` where the program reads nothing",
        name, shell_quoted(options_.command.front())));
    say(session_.notices.back());
    return false;
  }
  if (first) return true;
  const StageRun& original = session_.runs.front();
  if (result.signal != 0 && result.signal != first_signal_) {
    run.state = "failed";
    notice(
        fmt::format("{}: the program {}, and in the first run it {}; this stage counts as far as it got, {}; "
                    "`--plain-run` shows whether it does so without measurement",
                    name, ended_text(result.exit_status, result.signal),
                    ended_text(original.exit_status, first_signal_), without_more));
    return false;
  }
  if (result.exit_status != original.exit_status)
    notice(fmt::format("{}: the program {}, and in the first run it {}", name,
                       ended_text(result.exit_status, result.signal),
                       ended_text(original.exit_status, first_signal_)));
  return true;
}

double Measurement::reference_runtime() const {
  return session_.runs.empty() ? 0 : session_.runs.front().runtime_s;
}

std::string Measurement::outcome_text() const {
  if (session_.runs.empty()) return "failed";
  const StageRun& run = session_.runs.back();
  if (run.state != "complete" && run.state != "typed") return run.state;
  std::string text = fmt::format("{:.2f} s", run.runtime_s);
  if (session_.runs.size() > 1 && reference_runtime() > 0)
    text += fmt::format(", {:.2f} x {}", run.runtime_s / reference_runtime(), session_.runs.front().name);
  return text;
}

void Measurement::check_outcome(Stage stage, const StageOutcome& outcome) {
  if (const fs::path disk = outcome.records_lost ? full_disk_of(folder_) : fs::path(); !disk.empty())
    notice(fmt::format(
        "{}: the disk at {} is full, and records are missing: free some space and run again, or choose another place "
        "with --output DIR",
        stage_name(stage), disk.string()));
  if (outcome.other_driver > 0 && outcome.other_driver < outcome.used_cuda)
    notice(fmt::format("{}: {} of {} processes loaded another libcuda, and nothing was hooked there",
                       stage_name(stage), outcome.other_driver, outcome.used_cuda));
  int missing = outcome.hooks_planned - outcome.hooks_installed;
  if (missing > 0 && outcome.other_driver == 0)
    notice(fmt::format(
        "{}: {} of {} hooks were not installed, because the code in memory is not the file's (another "
        "tool patched it?); `diogenes doctor` lists tools that are in the way",
        stage_name(stage), missing, outcome.hooks_planned));
}

}  // namespace diogenes::launcher
