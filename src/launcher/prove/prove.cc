// `diogenes prove`: the session's program again, in turns as it is and with the report's waits corrected inside the process
// (src/corrector), and what that brought beside what was expected.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "analysis/analyse.h"
#include "analysis/report/kept_report.h"
#include "driver/catalogue.h"
#include "launcher/command_line/messages.h"
#include "launcher/command_line/output_file.h"
#include "launcher/measuring/resume.h"
#include "launcher/measuring/session_folder.h"
#include "launcher/measuring/session_lock.h"
#include "launcher/options.h"
#include "launcher/prove/choice.h"
#include "launcher/prove/outputs.h"
#include "launcher/prove/proof_table.h"
#include "launcher/prove/rounds.h"
#include "launcher/prove/trial.h"
#include "views/shared/figures.h"

namespace diogenes::launcher {

namespace fs = std::filesystem;

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What the corrected runs printed, held against those in which nothing was corrected.
void compare_outputs(const std::vector<Round>& rounds, std::vector<Proved>& rows) {
  for (const char* name : {"stdout", "stderr"}) {
    std::vector<std::string> expected;
    for (const Round& round : rounds)
      for (const TrialRun* run : {&round.as_it_is, &round.hooked})
        expected.push_back(content(run->folder / name));
    for (size_t i = 0; i < rows.size(); ++i)
      for (const Round& round : rounds) {
        const std::string difference = differs_from_all(expected, content(round.corrected[i].folder / name));
        if (!difference.empty() && rows[i].difference.empty())
          rows[i].difference =
              fmt::format("{} differs from the runs with nothing corrected {}", name, difference);
      }
  }
}

bool knows_first_call(const Round& round) {
  return round.hooked.counts.from_first_call_s() > 0 &&
         std::all_of(round.corrected.begin(), round.corrected.end(),
                     [](const TrialRun& run) { return run.counts.from_first_call_s() > 0; });
}

ProvedTable table_of(const Rounds& made, Choice choice, double whole_s) {
  const std::vector<Round>& rounds = made.rounds();
  ProvedTable table;
  table.without_end = made.without_end();
  table.pairs = static_cast<int>(rounds.size());
  table.from_first_call = std::all_of(rounds.begin(), rounds.end(), knows_first_call);
  std::vector<double> as_it_is, own;
  std::string ended;  // how a run as it is ended otherwise than in the session
  for (const Round& round : rounds) {
    as_it_is.push_back(round.as_it_is.runtime_s);
    own.push_back(round.hooked.runtime_s - round.as_it_is.runtime_s);
    if (ended.empty()) ended = round.as_it_is.ended;
  }
  table.runtime_s = median(as_it_is), table.own = paired_gain(own);
  table.whole_s = whole_s;
  for (size_t i = 0; i < made.corrections().size(); ++i) {
    Proved row{.correction = made.corrections()[i]};
    for (const Round& round : rounds) {
      const TrialRun& run = round.corrected[i];
      row.differences_s.push_back(table.from_first_call
                                      ? round.hooked.counts.unhooked_s() - run.counts.unhooked_s()
                                      : round.as_it_is.runtime_s - run.runtime_s);
      if (row.difference.empty() && run.ended != ended) row.difference = run.ended;
      row.counts.add(run.counts);
    }
    table.rows.push_back(std::move(row));
  }
  compare_outputs(rounds, table.rows);
  table.left_out = std::move(choice.left_out), table.ids = std::move(choice.ids);
  if (!ended.empty()) table.left_out.push_back("As it is, the program ended in another way, too: " + ended);
  return table;
}

// With what was proved of the same session before, but for what was tried now and did not end. False: it cannot be written.
bool write_proved(const fs::path& path, ProvedSession proved, const std::vector<WithoutEnd>& without_end) {
  if (Result<ProvedSession> before = proved_from_json(content(path))) {
    std::erase_if(before->corrections, [&](const ProvedCorrection& old) {
      return std::any_of(without_end.begin(), without_end.end(), [&](const WithoutEnd& one) {
        return one.correction.id == old.id && one.correction.keys == old.keys;
      });
    });
    keep_proved(*before, proved);
  }
  std::ofstream file(path, std::ios::binary);
  file << proved_json(proved);
  return static_cast<bool>(file.flush());
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
  const size_t runs_in_all = static_cast<size_t>(options.pairs) * (2 + choice->corrections.size());
  say(fmt::format("{}, about {}", counted(runs_in_all, "run"),
                  seconds_text(first_s * static_cast<double>(runs_in_all))));
  Trial trial(folder, std::move(*session), options.pool_limit.value_or(kHalfOfWhatIsFree));
  if (Status ready = trial.open(); !ready) return fail(kOwnFailure, ready.error().c_str());
  Rounds rounds(trial, std::move(choice->corrections), options.timeout_s, first_s);
  while (rounds.count() < options.pairs && !rounds.corrections().empty()) {
    if (!rounds.make_one(fmt::format("pair {} of {}", rounds.count() + 1, options.pairs))) break;
    if (rounds.count() > 1) continue;
    for (size_t i = 0; i < rounds.corrections().size(); ++i)
      if (const std::string little =
              little_corrected(rounds.corrections()[i], rounds.rounds()[0].corrected[i].counts);
          !little.empty())
        say(little);
  }
  if (rounds.count() == 0) return kOwnFailure;

  const ProvedTable table = table_of(rounds, std::move(*choice), report->whole_s());
  fmt::print("{}", proved_text(table));
  const fs::path path = folder / kProvedFile;
  if (!write_proved(path, proved_session(table, started_ns, report->model), table.without_end))
    return fail(kOwnFailure, fmt::format("cannot write {}", path.string()));
  const bool equal = std::all_of(table.rows.begin(), table.rows.end(),
                                 [](const Proved& row) { return row.difference.empty(); });
  return equal && table.without_end.empty() && table.pairs == options.pairs ? kSuccess : kProblems;
}

}  // namespace diogenes::launcher
