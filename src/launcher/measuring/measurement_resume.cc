// Measurement, for a session that an earlier `diogenes run` began (launcher/measuring/resume.h).
#include <fmt/format.h>

#include <algorithm>

#include "launcher/installed/machine_text.h"
#include "launcher/measuring/measurement.h"
#include "launcher/measuring/session_folder.h"

namespace diogenes::launcher {

namespace fs = std::filesystem;

bool Measurement::resume_session() {
  Result<fs::path> folder = choose_session(options_.resume);
  if (!folder) return refuse(kOwnFailure, folder.error().c_str());
  shown_folder_ = *folder;
  folder_ = full_path(*folder);
  if (Status locked = lock_.take(folder_); !locked) return refuse(kOwnFailure, locked.error().c_str());
  Result<Session> left = session_to_resume(shown_folder_, options_.command);
  if (!left) return refuse(kOwnFailure, left.error().c_str());
  session_ = std::move(*left);
  program_ = find_program(session_.command.front());
  if (program_.status != 0) return refuse(program_.status, program_.problem);
  if (!open_report_file()) return false;
  if (Status removed = remove_other_runs(folder_, session_); !removed)
    return refuse(kOwnFailure, removed.error().c_str());

  kept_runs_ = session_.runs.size();
  const RunRequest& request = session_.request;
  options_.command = session_.command;
  options_.driver = session_.simulated ? DriverKind::simulated : DriverKind::system;
  options_.output = shown_folder_.string();  // what is there stays, whatever the runs show
  options_.plain_run = request.plain_run;
  options_.prepare = request.prepare;
  options_.gpu_times = request.gpu_times;
  options_.samples = request.samples;
  options_.repeat = std::max(request.repeat, 1);
  options_.follow_values = request.follow_values;
  options_.max_trace_bytes = request.max_trace_bytes;
  options_.max_overhead = request.max_overhead;
  options_.threshold_percent = session_.threshold_percent;
  options_.region = request.region;
  if (Status region = check_region(options_.region, environment_); !region)
    return refuse(kOwnFailure, region.error().c_str());
  if (options_.timeout_s == 0) options_.timeout_s = request.timeout_s;
  runs_planned_ = 2 + options_.repeat + options_.plain_run;
  if (kept_runs_ == 0) return true;

  exit_status_ = session_.exit_status;
  first_signal_ = session_.runs.front().signal;
  if (std::string machine = describe_machine(); machine != session_.machine)
    notice(fmt::format("the runs were resumed on another machine or kernel ({}): their times may not agree",
                       machine));
  if (environment_that_matters(environment_) != session_.environment)
    notice(
        "the runs were resumed in another environment (CUDA_*, LD_*, OMP_* and the like): they may differ");
  return true;
}

// The driver that the kept runs were made with, which is not the system's where the program brings its own.
Result<ChosenDriver> Measurement::driver_of_session() {
  if (chosen_driver_) return *chosen_driver_;
  Result<ChosenDriver> chosen = choose_driver(options_.driver, installation_);
  if (chosen && (kept_runs_ == 0 || session_.simulated || chosen->library == session_.driver_path))
    return chosen;
  std::error_code failed;
  if (kept_runs_ > 0 && !session_.simulated && fs::exists(session_.driver_path, failed))
    return ChosenDriver{.library = session_.driver_path, .library_folder = {}, .simulated = false};
  return chosen;
}

bool Measurement::is_kept(const std::string& name) const {
  auto end = session_.runs.begin() + static_cast<std::ptrdiff_t>(kept_runs_);
  return std::any_of(session_.runs.begin(), end, [&](const StageRun& run) { return run.name == name; });
}

}  // namespace diogenes::launcher
