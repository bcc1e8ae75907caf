// `diogenes start` and `diogenes stop`: a window in a program that runs under `diogenes profile --wait`, and its report.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "analysis/analyse.h"
#include "ffm/stage.h"
#include "launcher/command_line/messages.h"
#include "launcher/command_line/output_file.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/measuring/window_control.h"
#include "launcher/options.h"
#include "trace/session.h"
#include "views/text/text.h"

namespace diogenes::launcher {

namespace {

std::atomic<bool> interrupted{false};

// "": it is about to be started.
std::string state_of(const std::filesystem::path& session_folder) {
  const Result<Session> session = read_session(session_folder);
  return session && !session->runs.empty() ? session->runs.back().state : "";
}

Result<WindowControl> control_of(const std::filesystem::path& session_folder) {
  const std::string state = state_of(session_folder);
  auto control = WindowControl::open(session_folder / stage_name(Stage::gpu_times));
  if (state.empty())
    return error("the program of %s has not started yet; try again in a moment", session_folder.c_str());
  if (control && state != "running")
    return error("the program of %s has ended; `diogenes report` shows what was recorded of it",
                 session_folder.c_str());
  return control;
}

}  // namespace

int start(const StartOptions& options) {
  Result<std::filesystem::path> folder = choose_session(options.session);
  if (!folder) return fail(kOwnFailure, folder.error().c_str());
  auto control = control_of(*folder);
  if (!control) return fail(kOwnFailure, control.error().c_str());
  struct sigaction on_interrupt {};
  on_interrupt.sa_handler = [](int) { interrupted = true; };
  on_interrupt.sa_flags = static_cast<int>(SA_RESETHAND);  // a second one ends us
  sigaction(SIGINT, &on_interrupt, nullptr);
  Progress progress;
  // Counted alone for a moment, so that the report can say how much longer it takes when it is recorded.
  const double counted_s = std::min(options.duration_s / 4, 1.0);
  progress.begin("recording", fmt::format("{} s of the program that runs", options.duration_s), false);
  const Nanoseconds begin = monotonic_now();
  int64_t looked = begin.count, told = begin.count;
  auto window = control->record({static_cast<int64_t>(counted_s * 1e9)},
                                {static_cast<int64_t>(options.duration_s * 1e9)}, [&] {
                                  constexpr int64_t kSecond = 1'000'000'000;
                                  const int64_t now = monotonic_now().count;
                                  if (now - told >= kSecond) progress.elapsed({(told = now) - begin.count});
                                  if (now - looked < kSecond / 4) return !interrupted;
                                  looked = now;
                                  return !interrupted && state_of(*folder) == "running";
                                });
  progress.end(window ? fmt::format("{:.1f} s", Nanoseconds{window->end_ns - window->begin_ns}.seconds())
                      : "failed");
  if (!window) return fail(kOwnFailure, window.error().c_str());
  Result<Report> report = analyse(*folder);
  if (!report) return fail(kOwnFailure, report.error().c_str());
  const Result<Session> session = read_session(*folder);
  const std::string text = to_text(*report, {.top = options.top,
                                             .width = columns(STDOUT_FILENO),
                                             .color = colors_wanted(STDOUT_FILENO),
                                             .working_folder = session ? session->working_folder : "",
                                             .session = folder->string()});
  const Status written = write_output("-", text, false);
  return written ? kSuccess : fail(kOwnFailure, written.error().c_str());
}

int stop(const StartOptions& options) {
  Result<std::filesystem::path> folder = choose_session(options.session);
  if (!folder) return fail(kOwnFailure, folder.error().c_str());
  auto control = control_of(*folder);
  if (!control) return fail(kOwnFailure, control.error().c_str());
  return control->stop() ? kSuccess
                         : fail(kProblems, "nothing is being recorded; `diogenes start` begins it");
}

}  // namespace diogenes::launcher
