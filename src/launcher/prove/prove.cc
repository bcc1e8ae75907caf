// `diogenes prove`: the session's program again, in turns as it is and with the report's waits corrected inside the process
// (src/corrector), and what that brought beside what was expected.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "analysis/analyse.h"
#include "analysis/kept_report.h"
#include "driver/catalogue.h"
#include "launcher/messages.h"
#include "launcher/options.h"
#include "launcher/output_file.h"
#include "launcher/prove/choice.h"
#include "launcher/prove/outputs.h"
#include "launcher/prove/table.h"
#include "launcher/prove/trial.h"
#include "launcher/resume.h"
#include "launcher/session_folder.h"
#include "views/figures.h"

namespace diogenes::launcher {

namespace fs = std::filesystem;

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

struct Runs {
  std::vector<double> as_it_is;
  std::vector<double> own_s;      // what the same hooks took, with nothing corrected, in each pair
  std::vector<fs::path> folders;  // of the runs in which nothing is corrected
  std::string ended;              // how one of those ended otherwise than in the session
  std::vector<Proved> corrected;
  std::vector<std::vector<fs::path>> corrected_folders;  // by correction
};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What the corrected runs printed, held against those in which nothing was corrected.
void compare_outputs(Runs& runs) {
  for (const char* name : {"stdout", "stderr"}) {
    std::vector<std::string> as_it_is;
    for (const fs::path& folder : runs.folders) as_it_is.push_back(content(folder / name));
    for (size_t i = 0; i < runs.corrected.size(); ++i)
      for (const fs::path& folder : runs.corrected_folders[i]) {
        const std::string difference = differs_from_all(as_it_is, content(folder / name));
        if (!difference.empty() && runs.corrected[i].difference.empty())
          runs.corrected[i].difference =
              fmt::format("{} differs from the runs with nothing corrected {}", name, difference);
      }
  }
}

// A site that no program has: all is hooked as in the corrected runs, and nothing is corrected.
Correction nothing() {
  Correction none;
  none.sites = {{0, kNoFunction, 0}};
  return none;
}

// False: said why, or interrupted.
bool make_round(Trial& trial, int round, int rounds, Runs& runs) {
  Progress progress;
  auto tell = [&](const std::string& name, const Result<TrialRun>& run) {
    progress.end(run ? seconds_text(run->runtime_s) : "failed");
    if (!run) say(fmt::format("{}: {}", name, run.error().c_str()));
    return static_cast<bool>(run);
  };
  const std::string heading = fmt::format("pair {} of {}", round, rounds);
  progress.begin(heading, "as it is", false);
  const Result<TrialRun> plain = trial.run(nullptr);
  if (!tell("as it is", plain)) return false;
  runs.as_it_is.push_back(plain->runtime_s);
  runs.folders.push_back(plain->folder);
  if (runs.ended.empty()) runs.ended = plain->ended;
  progress.begin(heading, "hooked, nothing corrected", false);
  const Correction none = nothing();
  const Result<TrialRun> hooked = trial.run(&none);
  if (!tell("hooked, nothing corrected", hooked)) return false;
  runs.own_s.push_back(hooked->runtime_s - plain->runtime_s);
  runs.folders.push_back(hooked->folder);
  runs.corrected_folders.resize(runs.corrected.size());
  for (size_t i = 0; i < runs.corrected.size(); ++i) {
    Proved& row = runs.corrected[i];
    const std::string name = row.correction.id.empty() ? "all" : row.correction.id;
    progress.begin(heading, fmt::format("corrected: {}", name), false);
    const Result<TrialRun> run = trial.run(&row.correction);
    if (!tell(name, run)) return false;
    row.differences_s.push_back(plain->runtime_s - run->runtime_s);
    if (row.difference.empty() && run->ended != runs.ended) row.difference = run->ended;
    runs.corrected_folders[i].push_back(run->folder);
    row.counts.add(run->counts);
  }
  return true;
}

Result<Report> report_of(const fs::path& folder, const ProveOptions& options) {
  const AnalysisOptions analysis{.model = model_of(options.model), .owners = {options.own, options.library}};
  if (std::optional<Report> kept = read_kept_report(folder, analysis)) return std::move(*kept);
  return analyse(folder, analysis);
}

}  // namespace

int prove(const ProveOptions& options) {
  Result<fs::path> shown = choose_session(options.session);
  if (!shown) return fail(kOwnFailure, shown.error().c_str());
  const fs::path folder = full_path(*shown);
  SessionLock lock;
  if (Status locked = lock.take(folder); !locked) return fail(kOwnFailure, locked.error().c_str());
  Result<Session> session = read_session(folder);
  if (!session) return fail(kOwnFailure, session.error().c_str());
  if (!session->finished || session->runs.empty())
    return fail(kOwnFailure,
                fmt::format("{} is not complete; `diogenes run --resume {}` makes the runs that are missing",
                            shown->string(), shell_quoted(shown->string())));
  Result<Report> report = report_of(folder, options);
  if (!report) return fail(kOwnFailure, report.error().c_str());
  Result<Choice> choice = choose_corrections(*report, options.only);
  if (!choice) return fail(kUsage, choice.error().c_str());
  if (Status found = find_sites(folder / stage_name(Stage::tracing), *choice); !found)
    return fail(kOwnFailure, found.error().c_str());
  if (choice->corrections.empty()) {
    for (const std::string& sentence : choice->left_out) say(sentence);
    return fail(kProblems, "there is nothing to correct in this report");
  }

  const double first_s = session->runs.front().runtime_s;
  const int64_t started_ns = session->started_ns;
  const double limit_s = options.timeout_s > 0 ? options.timeout_s : 20 * first_s + 60;
  const size_t runs_in_all = static_cast<size_t>(options.pairs) * (2 + choice->corrections.size());
  say(fmt::format("{}, about {}", counted(runs_in_all, "run"),
                  seconds_text(first_s * static_cast<double>(runs_in_all))));
  Trial trial(folder, std::move(*session), limit_s);
  if (Status ready = trial.open(); !ready) return fail(kOwnFailure, ready.error().c_str());
  Runs runs;
  for (const Correction& one : choice->corrections) runs.corrected.push_back({.correction = one});
  int made = 0;
  while (made < options.pairs && make_round(trial, made + 1, options.pairs, runs)) ++made;
  if (made == 0) return kOwnFailure;
  runs.own_s.resize(static_cast<size_t>(made));
  for (Proved& row : runs.corrected) row.differences_s.resize(static_cast<size_t>(made));

  compare_outputs(runs);
  ProvedTable table{median(runs.as_it_is), paired_gain(runs.own_s), made, std::move(runs.corrected),
                    choice->left_out};
  if (!runs.ended.empty())
    table.left_out.push_back("As it is, the program ended in another way, too: " + runs.ended);
  fmt::print("{}", proved_text(table));
  const fs::path path = folder / kProvedFile;
  std::ofstream file(path, std::ios::binary);
  file << proved_json(proved_session(table, started_ns, report->model));
  if (!file.flush()) return fail(kOwnFailure, fmt::format("cannot write {}", path.string()));
  const bool equal = std::all_of(table.rows.begin(), table.rows.end(),
                                 [](const Proved& row) { return row.difference.empty(); });
  return equal && made == options.pairs ? kSuccess : kProblems;
}

}  // namespace diogenes::launcher
