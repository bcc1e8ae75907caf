#include "launcher/measuring/measurement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "analysis/analyse.h"
#include "analysis/report/kept_report.h"
#include "analysis/runs/decisions.h"
#include "base/in_background.h"
#include "base/watchpoints_fire.h"
#include "driver/catalogue.h"
#include "launcher/command_line/build_details.h"
#include "launcher/installed/cuda_runtime.h"
#include "launcher/installed/cupti.h"
#include "launcher/installed/machine_text.h"
#include "launcher/measuring/job_launcher.h"
#include "launcher/measuring/measure_sleep_costs.h"
#include "launcher/measuring/run_estimate.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/measuring/target_environment.h"
#include "views/exports/exports.h"
#include "views/text/text.h"

namespace diogenes::launcher {
namespace {

namespace fs = std::filesystem;

// Of threads in the tracing run. Fewer change an estimate by a millisecond or two at most.
constexpr uint64_t kSleepsWorthMeasuring = 50;

int64_t realtime_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

Measurement::Measurement(const RunOptions& options)
    : options_(options),
      runs_planned_(options.profile ? 1 : 2 + options.repeat + options.plain_run),
      installation_(find_installation()),
      environment_(own_environment()) {}

bool Measurement::refuse(int status, const std::string& text) {
  exit_status_ = fail(status, text);
  return false;
}

bool Measurement::open() {
  if (Status agent = check_agent(installation_); !agent) return refuse(kOwnFailure, agent.error().c_str());
  if (options_.resume.empty() ? !begin_session() : !resume_session()) return false;
  streams_.emplace(folder_, session_);
  Result<ChosenDriver> driver = driver_of_session();
  return driver ? adopt_driver(*driver) : refuse(kOwnFailure, driver.error().c_str());
}

bool Measurement::begin_session() {
  // With a folder for each, the user knows that there are several.
  if (options_.output.empty())
    if (const std::string ranks = started_for_each_rank(environment_, options_.command); !ranks.empty())
      return refuse(kUsage, ranks);
  program_ = find_program(options_.command.front());
  if (program_.status != 0) return refuse(program_.status, program_.problem);
  if (Status region = check_region(options_.region, environment_); !region)
    return refuse(kOwnFailure, region.error().c_str());
  // Before the folder is made: without a driver there is no session.
  Result<ChosenDriver> driver = choose_driver(options_.driver, installation_);
  if (!driver) return refuse(kOwnFailure, driver.error().c_str());
  chosen_driver_ = *driver;
  if (!open_report_file()) return false;

  std::string app = program_.path.filename().string();
  Result<fs::path> folder = make_session_folder(app, options_.output, options_.force, lock_);
  if (!folder) return refuse(kOwnFailure, folder.error().c_str());
  shown_folder_ = *folder;
  folder_ = full_path(*folder);

  session_.tool_version = kVersion;
  session_.command = options_.command;
  std::error_code failed;
  session_.working_folder = fs::current_path(failed).string();
  session_.environment = environment_that_matters(environment_);
  session_.machine = describe_machine();
  session_.started_ns = realtime_now();
  session_.started_at = iso_time(session_.started_ns);
  session_.threshold_percent = options_.threshold_percent;
  session_.owners = {options_.own, options_.library};
  session_.simulated = driver->simulated;
  session_.driver_path = driver->library.string();
  session_.request = {.plain_run = options_.plain_run,
                      .prepare = options_.prepare,
                      .timeout_s = options_.timeout_s,
                      .gpu_times = options_.gpu_times,
                      .samples = options_.samples,
                      .repeat = options_.repeat,
                      .follow_values = options_.follow_values,
                      .max_trace_bytes = options_.max_trace_bytes,
                      .max_overhead = options_.max_overhead,
                      .region = options_.region,
                      .profile = options_.profile};
  if (Status written = write_session(folder_, session_); !written) {
    fs::remove_all(folder_, failed);
    return refuse(kOwnFailure, written.error().c_str());
  }
  return true;
}

Measurement::~Measurement() {
  if (report_fd_ < 0) return;
  close(report_fd_);
  if (report_file_is_new_ && !report_written_) unlink(options_.report_file.c_str());
}

// Before the first run: minutes later is too late to learn that the file cannot be written.
bool Measurement::open_report_file() {
  if (options_.report_file.empty()) return true;
  const char* file = options_.report_file.c_str();
  report_fd_ = ::open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  report_file_is_new_ = report_fd_ >= 0;
  struct stat status {};
  bool device = stat(file, &status) == 0 && !S_ISREG(status.st_mode);
  if (report_fd_ < 0 && errno == EEXIST && (options_.force || device))
    report_fd_ = ::open(file, O_WRONLY | O_CLOEXEC);
  if (report_fd_ >= 0) return true;
  return refuse(
      kOwnFailure,
      errno == EEXIST
          ? fmt::format("{} exists already; give another --report, or --force to overwrite it", file)
          : fmt::format("cannot write the report to {}: {}; choose another file with --report", file,
                        strerror(errno)));
}

bool Measurement::adopt_driver(const ChosenDriver& driver) {
  progress_.begin("driver", "finding the function in which this driver waits for the GPU", false);
  Nanoseconds begin = monotonic_now();
  Result<DriverHooks> hooks = prepare_driver(driver, installation_, options_.use_cache);
  if (!hooks) {
    progress_.end("failed");
    return refuse(kOwnFailure, hooks.error().c_str());
  }
  driver_.emplace(std::move(*hooks));
  if (kept_runs_ > 0 && driver_->build_id_text != session_.driver_build_id) {
    progress_.end("another build");
    return refuse(kOwnFailure,
                  fmt::format("the driver {} was replaced since {} was begun (build-id {}, now {}); begin a "
                              "new session",
                              driver.library.string(), shown_folder_.string(), session_.driver_build_id,
                              driver_->build_id_text));
  }
  progress_.end(driver_->wait_functions.empty() ? "not found"
                : driver_->from_cache           ? "known"
                                      : fmt::format("found, {:.1f} s", (monotonic_now() - begin).seconds()));
  for (auto& problem : driver_->problems) notice(problem);
  session_.simulated = driver.simulated;
  session_.driver_path = driver.library.string();
  session_.driver_build_id = driver_->build_id_text;
  session_.driver_version = driver_->version;
  session_.wait_functions = driver_->wait_functions;
  if (!driver_->evidence_json.empty()) write_file(folder_ / "discovery.json", driver_->evidence_json);
  save();
  return true;
}

bool Measurement::plain_run() {
  if (is_kept(kPlainRun)) return true;
  progress_.begin(run_heading(kPlainRun), "the program alone",
                  is_terminal(STDOUT_FILENO) || is_terminal(STDERR_FILENO));
  bool more = run_program(kPlainRun, {.library_folder = driver_->driver.library_folder});
  progress_.end(outcome_text());
  return more && first_run_is_good();
}

bool Measurement::baseline() {
  if (!run_stage(Stage::baseline, "the run time, and where the driver waits", driver_->waits)) return false;
  StageOutcome outcome = read_stage_outcome(folder_ / stage_name(Stage::baseline), driver_->build_id_text);
  const bool runtime = session_.simulated && used_runtime(folder_ / stage_name(Stage::baseline));
  measured_ = outcome.used_cuda > 0 && !(runtime && session_.exit_status != 0);
  if (!measured_) return nothing_to_measure();
  if (runtime) notice(fmt::format("{}; what the program does by that is missing", kSimulatedServesDriverApi));
  if (!first_run_is_good()) return false;
  if (outcome.other_driver == outcome.used_cuda && !measure_other_driver(outcome)) return false;
  say_how_long();
  check_waiting_functions();
  return true;
}

// Once it is certain that there are further runs.
void Measurement::say_how_long() const {
  if (is_kept(stage_name(Stage::baseline))) return;
  say(runs_sentence({.first_run_s = reference_runtime(),
                     .plain_run = options_.plain_run,
                     .tracing = options_.repeat,
                     .follow_values = options_.follow_values,
                     .max_overhead = options_.max_overhead}));
}

// Every function of the catalogue, and not only those that wait: the replay takes its gaps and submissions
// from this run (analysis/replay/recorded/schedule.h), repeated allocations are found here, and a first use
// is placed between the two calls that stage 3 saw around it (analysis/runs/first_uses.h), which both runs
// have to know for that.
bool Measurement::tracing() {
  bool more = run_stage(Stage::tracing, "each call, its time and its wait", driver_->all);
  for (int i = 2; more && i <= options_.repeat; ++i)
    more = run_stage(Stage::tracing, "the same again", driver_->all, {.number = i});
  if (session_.sleep_costs.empty() &&
      count_thread_sleeps(folder_ / stage_name(Stage::tracing)) >= kSleepsWorthMeasuring) {
    session_.sleep_costs = measure_sleep_costs();
    save();
  }
  return more;
}

// The simulated driver tells them by itself; else a libcupti does.
void Measurement::find_gpu_times(int cuda_version) {
  if (options_.gpu_times == "off") return;
  gpu_times_.take = session_.simulated;
  if (session_.simulated) return;
  gpu_times_.cupti = find_cupti(environment_, cuda_version, usual_toolkits());
  gpu_times_.take = !gpu_times_.cupti.empty();
  if (!gpu_times_.take)
    notice(
        "GPU times: not measured, because no libcupti for this driver was found; with one (it comes with CUDA "
        "toolkits; DIOGENES_CUPTI names its file) kernels are listed, and ranges get narrower");
}

bool Measurement::memory_tracing() {
  find_gpu_times(
      read_stage_outcome(folder_ / stage_name(Stage::baseline), driver_->build_id_text).cuda_version);
  return run_stage(Stage::memory_tracing, "first uses of data, content of transfers, GPU times", driver_->all,
                   {.gpu_times = gpu_times_});
}

bool Measurement::profile() {
  find_gpu_times(cuda_version_of(driver_->version));
  if (options_.wait)
    say(fmt::format("nothing is recorded until `diogenes start {}` says so, from another terminal",
                    shell_quoted(shown_folder_.string())));
  const bool more = run_stage(Stage::gpu_times, "each call, and when its work ran on the GPU", driver_->all,
                              {.gpu_times = gpu_times_});
  const StageOutcome outcome =
      read_stage_outcome(folder_ / stage_name(Stage::gpu_times), driver_->build_id_text);
  measured_ = outcome.used_cuda > 0;
  if (!measured_) return nothing_to_measure();
  if (outcome.other_driver == outcome.used_cuda)
    notice(fmt::format(
        "the program loaded {} and not {}: nothing was hooked; `diogenes run` finds out, and measures it",
        outcome.driver_path, driver_->driver.library.string()));
  return more;
}

// The analysis of the first three stages is the report's, unless it asks for more.
bool Measurement::further_runs(const FurtherRuns& further) {
  const bool gpu_times = further.gpu_times && gpu_times_.take;
  const bool follows = options_.follow_values && !further.follow.empty() &&
                       fs::exists(installation_.values) && !watchpoints_never_fire();
  const bool sync_use = further.sync_use || follows;
  if (!gpu_times && !sync_use) return false;
  runs_planned_ = static_cast<int>(session_.runs.size()) + gpu_times + sync_use;
  if (gpu_times) {
    run_stage(Stage::gpu_times, "when each piece of work ran on the GPU", driver_->all,
              {.gpu_times = gpu_times_});
    // It is never required: the other stages do not rest on it.
    if (session_.runs.back().state == "interrupted") return true;
  }
  if (sync_use)
    run_stage(Stage::sync_use,
              follows ? "what becomes of results after their first use"
                      : "time from synchronizations to first uses",
              driver_->all, {.followed = follows ? further.follow : std::vector<FollowedPlace>{}});
  return true;
}

void Measurement::windows() {
  if (!measured_) return;
  const size_t count = read_windows(folder_ / stage_name(Stage::gpu_times)).size();
  session_.finished = true;
  save();
  if (count == 0)
    say(options_.wait ? "no window was opened (`diogenes start`): nothing was recorded"
                      : "the program ended before --delay was over: nothing was recorded");
  else if (options_.wait || options_.each_s > 0)
    say(fmt::format("recorded {}; `diogenes report {} --window N` shows it again",
                    count == 1 ? "a window" : fmt::format("{} windows", count),
                    shell_quoted(shown_folder_.string())));
}

void Measurement::analysis(bool complete) {
  const std::string resume = "`diogenes run --resume " + shell_quoted(shown_folder_.string()) + "`";
  auto interrupted = [&] { return !session_.runs.empty() && session_.runs.back().state == "interrupted"; };
  if (!measured_) {
    if (interrupted())
      say(fmt::format("interrupted before anything was measured; {} starts it again", resume));
    return;
  }
  FurtherRuns further;
  std::optional<Report> report = analyse_runs(&further);
  if (report && complete && !session_.request.profile && further_runs(further))
    report = analyse_runs(nullptr);
  if (!report) return;
  // Both take as long as the analysis where there are many contexts; who waits for the report has it before.
  auto to_keep = in_background([&] { return report_bytes(*report); });
  auto as_json = in_background([&] { return to_json(*report); });
  int fd = report_fd_ >= 0 ? report_fd_ : STDERR_FILENO;
  print_text(to_text(*report, {.top = options_.top,
                               .width = columns(fd),
                               .color = colors_wanted(fd),
                               .working_folder = session_.working_folder,
                               .session = shown_folder_.string()}));
  const std::string json = as_json.get();
  bool kept = write_file(folder_ / "report.json", json);
  if (!kept && reserve_.release()) kept = write_file(folder_ / "report.json", json);
  if (!kept)
    say(fmt::format("cannot write {}/report.json: {}; the report above is complete all the same",
                    shown_folder_.string(), strerror(errno)));
  session_.finished = kept && complete && !interrupted();
  save();
  // What cannot be kept is made again when it is needed.
  [[maybe_unused]] const Status opens_at_once =
      keep_report(folder_, {.model = model_of(options_.model)}, to_keep.get());
  if (interrupted()) say(fmt::format("interrupted; {} goes on with the runs that are missing", resume));
}

std::optional<Report> Measurement::analyse_runs(FurtherRuns* further) {
  progress_.begin(stage_name(Stage::analysis), "problems and their expected benefit", false);
  Nanoseconds begin = monotonic_now();
  AnalysisOptions options{.threshold_percent = options_.threshold_percent, .model = model_of(options_.model)};
  if (gpu_code_.valid()) options.gpu_code = [this] { return gpu_code_.get(); };
  // The analysis of a profile is the last one: the end of the process gives its memory back.
  static auto& until_the_end = *new AnalysisMemory;
  Result<Report> report =
      analyse(folder_, options, further, session_.request.profile ? &until_the_end : nullptr);
  if (gpu_code_.valid()) {
    session_.gpu_code = gpu_code_.get();
    save();
  }
  if (!report) {
    progress_.end("failed");
    refuse(kOwnFailure, fmt::format("{}; what was recorded is kept in {}", report.error().c_str(),
                                    shell_quoted(shown_folder_.string())));
    return std::nullopt;
  }
  progress_.end(fmt::format("{:.2f} s", (monotonic_now() - begin).seconds()));
  return std::move(*report);
}

void Measurement::print_text(const std::string& text) {
  int fd = report_fd_ >= 0 ? report_fd_ : STDERR_FILENO;
  if (report_fd_ >= 0 && !report_file_is_new_ && ftruncate(report_fd_, 0) != 0 && errno != EINVAL)
    say(fmt::format("cannot empty {}: {}", options_.report_file, strerror(errno)));
  report_written_ = true;
  signal(SIGPIPE, SIG_IGN);
  for (size_t written = 0; written < text.size();) {
    ssize_t step = write(fd, text.data() + written, text.size() - written);
    if (step < 0 && errno == EPIPE) return;  // whoever read has gone; what was measured is still to be kept
    if (step <= 0) {
      refuse(kOwnFailure, fmt::format("cannot write the report: {}; `diogenes report {}` prints it again",
                                      strerror(errno), shell_quoted(shown_folder_.string())));
      return;
    }
    written += static_cast<size_t>(step);
  }
}

// Nobody wants to wait for three more runs of a program that crashed. An exit status is the program's own
// word, and may be as it should be: it is measured, and not in silence.
bool Measurement::first_run_is_good() {
  if (session_.runs.size() != 1 || session_.exit_status == 0 || options_.keep_going) return true;
  const std::string ended = ended_text(session_.exit_status, first_signal_);
  notice(
      first_signal_ != 0
          ? fmt::format(
                "the program {} in its first run; there are no further runs: fix that first, or measure up to there "
                "with --keep-going",
                ended)
          : fmt::format("the program {} in its first run; further runs are expected to end like this",
                        ended));
  say(session_.notices.back());
  return first_signal_ == 0;
}

bool Measurement::nothing_to_measure() {
  constexpr uint64_t kRoom = 1 << 20;
  std::string why =
      is_static(program_.path)
          ? "it is linked statically, so Diogenes cannot be loaded into it; link libc dynamically"
      : recorded_bytes_limit(folder_, 0) < kRoom / 4
          ? "nothing could be recorded, because the disk is full; free some space, or choose another "
            "place with --output DIR"
      : session_.simulated && used_runtime(folder_ / session_.runs.back().folder)
          ? fmt::format(
                "it uses the CUDA runtime, and {}; measure it on a machine with a GPU, without --driver simulated",
                kSimulatedServesDriverApi)
          : "it never initialised the CUDA driver";
  notice(fmt::format("nothing to measure in {}: {}", program_.path.string(), why));
  say(session_.notices.back() + (options_.output.empty() ? "; no session is kept" : ""));
  std::error_code failed;
  if (options_.output.empty()) fs::remove_all(folder_, failed);
  session_.finished = true;
  if (!options_.output.empty()) save();
  return false;
}

// The program brought its own libcuda (a compat package, say): plan for that file, and run stage 1 again.
bool Measurement::measure_other_driver(const StageOutcome& outcome) {
  ChosenDriver other{.library = outcome.driver_path, .library_folder = {}, .simulated = false};
  std::error_code failed;
  if (options_.driver == DriverKind::simulated || !fs::exists(other.library, failed)) {
    notice(fmt::format(
        "the program loaded {} and not {}: nothing was hooked; look at its RPATH and LD_LIBRARY_PATH",
        outcome.driver_path, driver_->driver.library.string()));
    return false;
  }
  notice(fmt::format("the program loaded {} and not {}: the first run was made again for that driver",
                     outcome.driver_path, driver_->driver.library.string()));
  fs::remove_all(folder_ / stage_name(Stage::baseline), failed);
  kept_runs_ = 0;
  if (!adopt_driver(other)) return false;
  return run_stage(Stage::baseline, "again, for the driver that the program brings", driver_->waits);
}

void Measurement::check_waiting_functions() {
  Result<std::vector<std::string>> waiting = waiting_functions(folder_ / stage_name(Stage::baseline));
  if (!waiting) return notice(waiting.error().c_str());
  for (auto& symbol : *waiting)
    if (find_driver_function(symbol) == kNoFunction)
      notice(fmt::format(
          "{} waits for the GPU and is not among the driver functions that Diogenes knows: its waits are recorded "
          "without their arguments",
          symbol));
}

void Measurement::notice(const std::string& text) {
  auto& notices = session_.notices;
  if (std::find(notices.begin(), notices.end(), text) == notices.end()) notices.push_back(text);
}

void Measurement::save() {
  Status written = write_session(folder_, session_);
  if (!written && reserve_.release()) {
    Status again = write_session(folder_, session_);
    if (again) return;
  }
  if (written || save_failed_) return;
  save_failed_ = true;
  say(fmt::format("{}; the runs go on, and the report is made from what could be kept",
                  written.error().c_str()));
}

}  // namespace diogenes::launcher
