#include "analysis/analyse.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/findings/repeats.h"
#include "analysis/freed_memory.h"
#include "analysis/report_of_run.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

// The complete runs that repeat the tracing run: tracing-2, tracing-3, ...
std::vector<std::string> repeats_of(const Session& session, const std::string& tracing) {
  std::vector<std::string> names;
  for (const StageRun& run : session.runs)
    if (run.name.starts_with(tracing + "-") && run.state == "complete") names.push_back(run.name);
  return names;
}

}  // namespace

Result<PartOfSequence> part_of_sequence(std::string_view text) {
  PartOfSequence part;
  char group[16] = {};
  int end = 0;
  std::string whole(text);
  if (sscanf(whole.c_str(), "%15[G0-9]:%zu-%zu%n", group, &part.first, &part.last, &end) != 3 ||
      static_cast<size_t>(end) != whole.size() || part.first < 1 || part.last < part.first)
    return error("'%s' is no part of a sequence; entries 2 to 5 of G3 are G3:2-5", whole.c_str());
  part.group = group;
  return part;
}

namespace {

using Analyses = std::vector<std::unique_ptr<ReportOfRun>>;

// The verdicts are checked beside all that follows from them. Where they do not hold, it is done again with those that
// do; that is rare.
Result<Report> run_analysis(std::unique_ptr<ReportOfRun>& analysis, const fs::path& session_folder,
                            const Session& session, const AnalysisOptions& options) {
  analysis = std::make_unique<ReportOfRun>(session_folder, session, options, necessity::Check::beside);
  Result<Report> report = analysis->run();
  if (analysis->verdicts_hold()) return report;
  analysis.reset();
  analysis = std::make_unique<ReportOfRun>(session_folder, session, options, necessity::Check::first);
  return analysis->run();
}

std::vector<std::set<std::string>> members_of_groups(const Report& report) {
  std::map<std::string, std::string> keys;
  for (const ReportProblem& problem : report.problems) keys[problem.id] = problem.key;
  std::vector<std::set<std::string>> groups;
  for (const ReportGroup& group : report.groups) {
    std::set<std::string>& members = groups.emplace_back();
    for (const std::string& id : group.members) members.insert(keys.at(id));
  }
  return groups;
}

// `kept`: gets the analyses of the tracing run and of its repeats, in this order; null: each goes when it is done.
Result<Report> analyse_all(const fs::path& session_folder, const AnalysisOptions& options,
                           FurtherRuns* further, Analyses* kept) {
  const FreedMemoryStays for_the_next;
  auto session = read_session(session_folder);
  if (!session) return session.error();
  std::unique_ptr<ReportOfRun> analysis;
  Result<Report> report = run_analysis(analysis, session_folder, *session, options);
  if (!report) return report;
  if (further) *further = analysis->further();
  if (kept) kept->push_back(std::move(analysis));
  analysis.reset();
  std::vector<Report> repeats;
  AnalysisOptions again = options;
  again.parts.clear();  // they are among the groups
  again.timeline = 0;
  again.groups = members_of_groups(*report);
  for (const std::string& repeat : repeats_of(*session, options.tracing_run)) {
    again.tracing_run = repeat;
    std::unique_ptr<ReportOfRun> other;
    Result<Report> of_repeat = run_analysis(other, session_folder, *session, again);
    if (!of_repeat) {
      report->notices.push_back({"repeat-left-out", repeat + ": left out: " + of_repeat.error().c_str()});
      continue;
    }
    repeats.push_back(std::move(*of_repeat));
    if (kept) kept->push_back(std::move(other));
  }
  unite_repeats(*report, repeats);
  return report;
}

}  // namespace

struct AnalysisMemory::Held {
  FreedMemoryStays freed;
  Analyses analyses;
};

AnalysisMemory::AnalysisMemory() = default;
AnalysisMemory::~AnalysisMemory() = default;

Result<Report> analyse(const fs::path& session_folder, const AnalysisOptions& options, FurtherRuns* further,
                       AnalysisMemory* memory) {
  if (memory) memory->held_ = std::make_unique<AnalysisMemory::Held>();
  return analyse_all(session_folder, options, further, memory ? &memory->held_->analyses : nullptr);
}

struct Estimator::Runs {
  Analyses analyses;
};

Estimator::Estimator(Report report, std::unique_ptr<Runs> runs)
    : report_(std::move(report)), runs_(std::move(runs)) {}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;

Result<Estimator> Estimator::make(const fs::path& session, const AnalysisOptions& options) {
  auto runs = std::make_unique<Runs>();
  Result<Report> report = analyse_all(session, options, nullptr, &runs->analyses);
  if (!report) return report.error();
  return Estimator(std::move(*report), std::move(runs));
}

Result<ReportTogether> Estimator::together(const std::vector<std::string>& problems) const {
  std::set<std::string> keys;
  for (const std::string& id : problems) {
    auto found = std::find_if(report_.problems.begin(), report_.problems.end(),
                              [&](const ReportProblem& problem) { return problem.id == id; });
    if (found == report_.problems.end()) return error("%s is no problem of this report", id.c_str());
    keys.insert(found->key);
  }
  std::vector<ReportTogether> figures;
  for (const auto& analysis : runs_->analyses) {
    const std::optional<Figure> figure = analysis->together(keys);
    figures.push_back(figure ? Description::together(*figure, report_.whole_s()) : ReportTogether{});
  }
  ReportTogether all = figures.front();
  unite_repeats(all, {figures.begin() + 1, figures.end()}, report_.whole_s());
  return all;
}

}  // namespace diogenes
