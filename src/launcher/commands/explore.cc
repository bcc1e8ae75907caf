// `diogenes explore`: a session's report, to walk through in the terminal. It opens at once where the report was kept
// (analysis/report/kept_report.h) and no finding is withdrawn; else the session is analysed while the screen says so.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "analysis/proof/proved_report.h"
#include "base/units.h"
#include "launcher/command_line/messages.h"
#include "launcher/commands/background_analysis.h"
#include "launcher/installed/installation.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/options.h"
#include "launcher/terminal/terminal.h"
#include "trace/session.h"
#include "views/explorer/explorer.h"

namespace diogenes::launcher {
namespace {

constexpr int kShortMs = 200;  // an analysis that takes no longer shows no other screen first
constexpr int kSecondMs = 1000;

// How it ended: an exit status, or a signal, and a message for after the terminal is given back.
struct Ending {
  int status = kSuccess, signal = 0;
  std::string message = {};
};

class Exploration {
 public:
  Exploration(std::string name, std::string working_folder, BackgroundAnalysis& analysis, Terminal& terminal)
      : name_(std::move(name)),
        working_folder_(std::move(working_folder)),
        analysis_(analysis),
        terminal_(terminal) {}

  Ending run(std::optional<Report> kept) {
    if (kept)
      show(std::move(*kept));
    else if (std::optional<Ending> ending = wait_for_report())
      return *ending;
    while (!explorer_->done()) {
      ask();
      terminal_.draw(explorer_->screen());
      const TerminalInput input = terminal_.wait(analysis_.ready(), -1);
      if (std::optional<Ending> ending = ended(input)) return *ending;
      if (input.redraw) explorer_->resize(terminal_.size());
      for (const explorer::KeyPress& key : input.keys)
        if (!explorer_->done()) explorer_->press(key);
      if (input.woken)
        if (std::optional<AnsweredEstimate> answer = analysis_.take_estimate()) {
          asked_.clear();
          explorer_->estimated(answer->problems, {answer->figure, answer->error});
        }
    }
    return {};
  }

 private:
  void show(Report report) {
    explorer_.emplace(std::move(report), working_folder_);
    explorer_->resize(terminal_.size());
  }

  // One at a time, the latest that is wanted.
  void ask() {
    std::vector<std::string> wanted = explorer_->wanted();
    if (wanted.empty() || !asked_.empty()) return;
    asked_ = wanted;
    analysis_.ask(std::move(wanted));
  }

  static std::optional<Ending> ended(const TerminalInput& input) {
    if (input.signal != 0) return Ending{.signal = input.signal};
    if (input.gone) return Ending{.signal = SIGHUP};
    return std::nullopt;
  }

  std::optional<Ending> wait_for_report() {
    const Nanoseconds begin = monotonic_now();
    analysis_.start();
    for (int timeout = kShortMs;; timeout = kSecondMs) {
      const TerminalInput input = terminal_.wait(analysis_.ready(), timeout);
      if (std::optional<Ending> ending = ended(input)) return ending;
      for (const explorer::KeyPress& key : input.keys)
        if (key.is('q') || key.is('Q')) return Ending{};
      if (std::optional<Result<Report>> report = analysis_.take_report()) {
        if (!*report) return Ending{.status = kOwnFailure, .message = report->error().c_str()};
        show(std::move(**report));
        return std::nullopt;
      }
      terminal_.draw(explorer::waiting_screen(name_, (monotonic_now() - begin).seconds(), terminal_.size()));
    }
  }

  std::string name_, working_folder_;
  BackgroundAnalysis& analysis_;
  Terminal& terminal_;
  std::optional<explorer::Explorer> explorer_;
  std::vector<std::string> asked_;
};

}  // namespace

int explore(const ExploreOptions& options) {
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDOUT_FILENO))
    return fail(kUsage, "explore needs a terminal; `diogenes report` prints the report");
  const char* term = getenv("TERM");
  if (!term || !*term || strcmp(term, "dumb") == 0)
    return fail(
        kUsage,
        fmt::format(
            "explore needs a terminal that can move its cursor (TERM is {}); `diogenes report` prints the report",
            term && *term ? term : "not set"));
  Result<std::filesystem::path> folder = choose_session(options.session);
  if (!folder) return fail(kOwnFailure, folder.error().c_str());
  Result<Session> session = read_session(*folder);
  if (!session) return fail(kOwnFailure, session.error().c_str());
  const AnalysisOptions analysis{.threshold_percent = options.threshold_percent,
                                 .model = model_of(options.model),
                                 .owners = {options.own, options.library}};
  std::optional<Report> kept = read_kept_proved(*folder, analysis);
  Ending ending;
  bool running = false;
  {
    BackgroundAnalysis background(*folder, analysis, kept ? &*kept : nullptr);
    Result<std::unique_ptr<Terminal>> terminal = Terminal::open(find_installation().terminfo);
    if (!terminal)
      return fail(kUsage, fmt::format("{}; `diogenes report` prints the report", terminal.error().c_str()));
    ending =
        Exploration(folder->string(), session->working_folder, background, **terminal).run(std::move(kept));
    running = background.running();
  }
  if (ending.signal != 0) {
    signal(ending.signal, SIG_DFL);
    raise(ending.signal);
  }
  if (!ending.message.empty()) say(ending.message);
  if (running) _exit(ending.status);  // an analysis that nobody waits for any more
  return ending.status;
}

}  // namespace diogenes::launcher
