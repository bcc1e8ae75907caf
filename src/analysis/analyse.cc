#include "analysis/analyse.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/findings/groupings.h"
#include "analysis/findings/repeats.h"
#include "analysis/findings/required.h"
#include "analysis/freed_memory.h"
#include "analysis/program/code_loading.h"
#include "analysis/program/main_loop.h"
#include "analysis/program/profiled_span.h"
#include "analysis/report/coverage.h"
#include "analysis/report/description.h"
#include "analysis/report/notices.h"
#include "analysis/report/source_key.h"
#include "analysis/report/timeline.h"
#include "analysis/report/totals.h"
#include "analysis/report/wording.h"
#include "analysis/runs/followed_values.h"
#include "analysis/runs/gpu_times.h"
#include "analysis/runs/watch_shares.h"
#include "analysis/symbols/source_lines.h"
#include "analysis/symbols/stack_names.h"
#include "trace/session.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

const StageRun* run_of(const Session& session, const std::string& name) {
  for (const StageRun& run : session.runs)
    if (run.name == name) return &run;
  return nullptr;
}

// The complete runs that repeat the tracing run: tracing-2, tracing-3, ...
std::vector<std::string> repeats_of(const Session& session, const std::string& tracing) {
  std::vector<std::string> names;
  for (const StageRun& run : session.runs)
    if (run.name.starts_with(tracing + "-") && run.state == "complete") names.push_back(run.name);
  return names;
}

// A needed wait is worth a word from this share of the GPU phase on; each that is looked at is one more replay.
constexpr double kRequiredShare = 0.01;
constexpr size_t kMostRequired = 10;

// The steps of stage 5, in order; what one leaves is the next one's input.
class Analysis {
 public:
  Analysis(fs::path folder, Session session, const AnalysisOptions& options, necessity::Check check)
      : folder_(std::move(folder)),
        session_(std::move(session)),
        options_(options),
        check_(check),
        names_(owners(), folder_ / "names.json"),
        source_(session_.started_ns) {
    report_.model = model_name(options.model);
    threshold_percent_ =
        options.threshold_percent >= 0 ? options.threshold_percent : session_.threshold_percent;
  }

  Result<Report> run() {
    describe_session();
    session_notices(session_, report_.notices);
    load();
    describe_process();
    if (tracing_) mark_part();
    if (tracing_) add_totals(*tracing_, sites_, report_, functions_);
    if (tracing_) {
      report_.coverage = coverage_of(*tracing_);
      const Nanoseconds phase = gpu_phase(*tracing_, sites_);
      report_.gpu_phase_s = std::min(phase.seconds(), report_.runtime_s);
      loop_ = main_loop(*tracing_);
      say_code_loading();
      find();
    }
    const uint32_t unreadable = tracing_ ? tracing_->trace.unreadable : 0;
    if (used_cuda_ || !tracing_ || unreadable > 0) {
      report_.incomplete =
          what_is_missing(session_, tracing_.has_value(), memory_tracing_.has_value(), report_.coverage);
      if (unreadable > 0)
        report_.incomplete.push_back("of " + counted(unreadable, "process", "processes") +
                                     " nothing could be read: " + tracing_->trace.missing.front());
      report_.incomplete.insert(report_.incomplete.end(), lost_.begin(), lost_.end());
    }
    finish_notices();
    if (Status kept = names_.keep(); !kept) report_.notices.push_back({"names", kept.error().c_str()});
    if (!problem_.empty()) return error("%s", problem_.c_str());
    return std::move(report_);
  }

  const FurtherRuns& further() const { return further_; }

  // False: the verdicts do not hold together, and the report is wrong. After run(), once.
  bool verdicts_hold() {
    if (!memory_tracing_ || !memory_tracing_->verdicts_hold.valid()) return true;
    return memory_tracing_->verdicts_hold.get();
  }

  // Of the problems with these keys; none of them is in this run: nothing. After run().
  std::optional<Figure> together(const std::set<std::string>& keys) const {
    const std::vector<uint32_t> members = with_keys(keys);
    if (members.empty()) return std::nullopt;
    return diogenes::together({*tracing_, sites_, graph_, problems_.found, &*models_}, members);
  }

 private:
  std::vector<uint32_t> with_keys(const std::set<std::string>& keys) const {
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < keys_.size(); ++i)
      if (keys.contains(keys_[i])) members.push_back(i);
    return members;
  }

  OwnerChoices owners() const {
    OwnerChoices all = session_.owners;
    all.own.insert(all.own.end(), options_.owners.own.begin(), options_.owners.own.end());
    all.library.insert(all.library.end(), options_.owners.library.begin(), options_.owners.library.end());
    return all;
  }

  void describe_session() {
    report_.command = session_.command;
    report_.tool_version = session_.tool_version;
    report_.started = session_.started_at;
    report_.exit_status = session_.exit_status;
    report_.driver_path = session_.driver_path;
    report_.driver_build_id = session_.driver_build_id;
    report_.driver_version = session_.driver_version;
    report_.simulated = session_.simulated;
    for (const WaitFunction& function : session_.wait_functions)
      report_.wait_functions.push_back({function.offset, function.agreed, function.known});
    const StageRun* base = run_of(session_, "plain");
    if (!base) base = run_of(session_, stage_name(Stage::baseline));
    report_.runtime_s = base ? base->runtime_s : 0;
    for (const StageRun& run : session_.runs)
      report_.stages.push_back(
          {run.name, run.runtime_s, report_.runtime_s > 0 ? run.runtime_s / report_.runtime_s : 0});
  }

  // Without it, the report is of the whole run, or of what cuProfilerStart marks, and not complete.
  bool mark_region(const std::string& region) {
    const std::vector<NvtxRanges> ranges = read_nvtx_ranges(tracing_->trace.folder);
    uint64_t lost = 0;
    for (const NvtxRanges& file : ranges) lost += file.lost;
    if (lost > 0)
      report_.notices.push_back({"region-lost", "begins and ends of the NVTX range '" + region +
                                                    "' were lost " + counted(lost, "time", "times") +
                                                    ": the part that is judged may be wrong (disk full?)"});
    const std::optional<ProfiledSpan> part = mark_what_is_outside(*tracing_, ranges);
    if (!part) {
      lost_.push_back(no_such_range(region, ranges) + "; the report is as without --region");
      return false;
    }
    report_.part = {"NVTX range " + region, part->times, std::min(part->time.seconds(), report_.runtime_s)};
    report_.notices.push_back(
        {"marked-part", "what is found lies in the NVTX range '" + region + "', which the program enters " +
                            counted(part->times, "time", "times") + "; percentages are of that time"});
    return true;
  }

  void mark_part() {
    if (const std::string& region = session_.request.region; !region.empty() && mark_region(region)) return;
    const std::optional<ProfiledSpan> part = mark_what_is_outside(*tracing_, sites_);
    if (!part) return;
    report_.part = {"cuProfilerStart", part->times, std::min(part->time.seconds(), report_.runtime_s)};
    report_.notices.push_back(
        {"marked-part",
         "what is found lies between cuProfilerStart and cuProfilerStop, which the program calls " +
             counted(part->times, "time", "times") + "; percentages are of that time"});
  }

  void say_code_loading() {
    for (const Process& process : tracing_->processes) {
      const ProcessFile& file = process.trace->process;
      if (file.capability_major == 0) continue;
      const FrameOwners of_program(file.executable, owners());
      code_loading_notices(
          session_.gpu_code, code_loading(*tracing_, sites_), {file.capability_major, file.capability_minor},
          report_.runtime_s, [&](const std::string& loaded) { return of_program.is_own(loaded); },
          [this](SiteIndex site) { return place_of(names_.stack(sites_[site].place)); }, report_.notices);
      return;
    }
  }

  std::optional<Run> load_stage(Stage stage, Load what) {
    const std::string name = stage == Stage::tracing ? options_.tracing_run : stage_name(stage);
    const StageRun* state = run_of(session_, name);
    fs::path stage_folder = folder_ / (state && !state->folder.empty() ? state->folder : name);
    std::error_code failed;
    if (!fs::is_directory(stage_folder, failed)) return std::nullopt;
    auto run = stage == Stage::memory_tracing
                   ? load_memory_tracing(folder_, sites_,
                                         {options_.judge, [this](const Run& of) { build(&of); }, check_})
                   : load_run(stage_folder, sites_, what, {.by_hand = options_.judge});
    if (!run) {
      report_.notices.push_back({"session", run.error().c_str()});
      return std::nullopt;
    }
    stage_notices(*run, name, report_.notices);
    for (std::string& sentence : lost_operations(*run, name)) lost_.push_back(std::move(sentence));
    if (stage == Stage::tracing) python_notice(*run, report_.notices);
    return std::move(*run);
  }

  // One stage after the other: what stages 3 and 4 say of the operations goes to those of stage 2, and their
  // own are let go.
  void load() {
    tracing_ = load_stage(Stage::tracing, Load::operations);
    if (tracing_) load_gpu_times();
    memory_tracing_ = load_stage(Stage::memory_tracing, Load::evidence);
    if (!replay_) build(nullptr);
    verdicts_.assign(sites_.size(), {});
    if (memory_tracing_) {
      if (gpu_times_) gpu_times_notices(*memory_tracing_, *gpu_times_, report_.notices);
      if (tracing_) join_memory_tracing();
      drop_operations(*memory_tracing_);
    }
    sync_use_ = load_stage(Stage::sync_use, Load::evidence);
    verdicts_.resize(sites_.size());
    if (!sync_use_) return;
    followed_ = followed_values(*sync_use_, sites_);
    if (tracing_)
      first_use_join_notice(join_first_uses(*tracing_, *sync_use_, sites_, first_uses_), report_.notices);
    drop_operations(*sync_use_);
  }

  // A run of its own for them comes before stage 3's, which disturbs the program more.
  void load_gpu_times() {
    std::optional<Run> run = load_stage(Stage::gpu_times, Load::gpu_times);
    has_gpu_run_ = run.has_value();
    if (!run) return;
    take_gpu_times(*run);
    gpu_times_notices(*run, *gpu_times_, report_.notices);
    gpu_times_.reset();
  }

  void take_gpu_times(const Run& run) {
    gpu_times_ = join_gpu_times(*tracing_, run, sites_, kAssumedMachine);
    calibrated_ = gpu_times_->known > 0;
    machine_ = gpu_times_->machine;
  }

  // The graph and the model of the run: no verdict matters for them, so they are made while stage 3 is judged.
  void build(const Run* memory_tracing) {
    if (!tracing_) return;
    if (memory_tracing && !has_gpu_run_ && tells_gpu_times(*memory_tracing)) take_gpu_times(*memory_tracing);
    graph_ = build_graph(*tracing_, sites_);
    replay_.emplace(
        *tracing_, sites_, graph_,
        ReplayOptions{.machine = machine_, .calibrated = calibrated_, .sleep_costs = session_.sleep_costs});
  }

  void join_memory_tracing() {
    JoinResult joined = join_verdicts(*tracing_, *memory_tracing_, sites_, verdicts_);
    join_notices(joined, "memory-tracing", report_.notices);
    auto all = static_cast<double>(joined.matched + joined.unmatched);
    if (all > 0) unmatched_ = static_cast<double>(joined.unmatched) / all;
    unwatched_notices(*memory_tracing_, report_.notices);
    left_out_notice(
        *memory_tracing_, session_.request.max_overhead,
        [this](SiteIndex index) {
          const Site& site = sites_[index];
          const std::string where = place_of(names_.stack(site.place));
          return names_.called(site) + (where.empty() ? "" : " at " + where);
        },
        report_.notices);
    call_contexts_ = call_contexts_of(*memory_tracing_, sites_);
    brought_ = brought_values(*memory_tracing_, sites_);
  }

  static void drop_operations(Run& run) {
    for (Process& process : run.processes)
      for (Thread& thread : process.threads) {
        // Assigning {} would keep the memory.
        std::vector<Operation>().swap(thread.operations);
        std::vector<Evidence>().swap(thread.evidence);
        std::vector<FirstUsePlace>().swap(thread.first_uses);
        std::vector<RecordedGpuTime>().swap(thread.gpu_times);
      }
  }

  void describe_process() {
    if (tracing_)
      for (const Process& process : tracing_->processes) {
        const ProcessFile& file = process.trace->process;
        report_.processes.push_back({file.rank >= 0 ? std::optional<int>(file.rank) : std::nullopt, file.pid,
                                     file.host, file.executable});
      }
    for (const auto* run : {&tracing_, &memory_tracing_, &sync_use_}) {
      if (!*run) continue;
      for (const Process& process : (*run)->processes) {
        const ProcessFile& file = process.trace->process;
        used_cuda_ |= file.used_cuda != 0;
        if (!file.used_cuda) continue;
        report_.simulated |= file.simulated != 0;
        if (report_.driver_path.empty()) report_.driver_path = file.driver_path;
        if (report_.driver_version.empty() && file.driver_version > 0)
          report_.driver_version = std::to_string(file.driver_version / 1000) + "." +
                                   std::to_string(file.driver_version % 1000 / 10);
        if (report_.device_name.empty() && *file.device_name) {
          report_.device_name = file.device_name;
          report_.compute_capability =
              std::to_string(file.capability_major) + "." + std::to_string(file.capability_minor);
        }
      }
    }
  }

  void find() {
    // Of the time in which the GPU is used: imports and the driver's start are no measure of what a fix is worth.
    const double whole = !report_.part && report_.gpu_phase_s > 0 ? report_.gpu_phase_s : report_.whole_s();
    const Nanoseconds threshold{static_cast<int64_t>(whole * 1e9 * threshold_percent_ / 100)};
    replay_->set_unmatched(unmatched_);
    const Replay& replay = *replay_;
    const Models& models = models_.emplace(graph_, &replay, options_.model);
    const ProblemInput input{*tracing_,   sites_,    graph_,  verdicts_,
                             first_uses_, threshold, &models, memory_tracing_ ? &call_contexts_ : nullptr};
    problems_ = find_problems(input);
    const Problems& problems = problems_;
    Description description(report_, names_, source_, sites_, *tracing_, graph_, followed_);
    for (const Problem& problem : problems.found) description.add(problem);
    for (const ReportProblem& problem : report_.problems) keys_.push_back(problem.key);
    std::map<std::string, Models::Parts> by_operation;
    for (const Problem& problem : problems.found)
      by_operation[operation_name(sites_[problem.site])].push_back(&problem.changes);
    std::vector<Models::Parts> of_operations;
    for (auto& [operation, parts] : by_operation) of_operations.push_back(std::move(parts));
    const std::vector<Figure> of_each = models.figures(of_operations);
    size_t next = 0;
    for (const auto& [operation, parts] : by_operation)
      functions_[operation].expected_benefit_s = of_each[next++].benefit.seconds();
    GroupingInput grouping{*tracing_, sites_, graph_, problems.found, &models};
    const std::vector<Group> groups =
        options_.groups ? groups_asked_for(grouping) : find_groups(grouping, names_);
    for (const Group& group : groups) description.add(group);
    add_parts(grouping, groups, description);
    const Nanoseconds worth{static_cast<int64_t>(report_.gpu_phase_s * 1e9 * kRequiredShare)};
    const std::vector<Required> needed = find_required(input, problems.found, worth, kMostRequired);
    for (const Required& required : needed) description.add(required, brought_);
    if (!sync_use_)
      to_follow_ =
          places_to_follow(needed, problems.found, {static_cast<int64_t>(report_.gpu_phase_s * 1e9)});
    if (options_.timeline > 0)
      report_.timeline = timeline_of(input, problems.found, needed, options_.timeline);
    set_source_keys(report_);
    add_together(grouping, description);
    description.add_line_notices();
    note_further_runs(problems, replay);
    if (options_.model == Model::replay) mismatch_notice(replay.mismatch(), report_.notices);
    problem_notices(problems, graph_, threshold_percent_, options_.model, report_.notices);
  }

  void note_further_runs(const Problems& problems, const Replay& replay) {
    RunsSoFar so_far;
    so_far.runtime = {static_cast<int64_t>(report_.runtime_s * 1e9)};
    so_far.missed = replay.missed();
    so_far.gpu_times_of_stage_3 = calibrated_ && !has_gpu_run_;
    for (const Problem& problem : problems.found) {
      so_far.benefit += problem.benefit;
      so_far.waited += problem.waited;
      if (problem.kind == ProblemKind::misplaced_synchronization && !sync_use_)
        so_far.misplaced.push_back({problem.benefit, verdicts_[problem.site.value].gaps});
    }
    further_ = further_runs(so_far);
    further_.follow = std::move(to_follow_);
  }

  void add_parts(const GroupingInput& grouping, const std::vector<Group>& groups, Description& description) {
    for (const PartOfSequence& part : options_.parts) {
      size_t position = 0;
      for (size_t i = 0; i < groups.size(); ++i)
        if ("G" + std::to_string(i + 1) == part.group) position = i + 1;
      if (position == 0 || groups[position - 1].grouping != Group::Grouping::sequence)
        problem_ =
            "--subsequence: " + part.group + " is no sequence of this report; `diogenes report` lists them";
      else if (part.last > groups[position - 1].members.size())
        problem_ = "--subsequence: " + part.group + " has " +
                   std::to_string(groups[position - 1].members.size()) + " entries";
      else
        description.add(subsequence(grouping, names_, groups[position - 1], part.first, part.last));
    }
  }

  std::vector<Group> groups_asked_for(const GroupingInput& grouping) const {
    std::vector<Group> groups;
    std::vector<std::vector<uint32_t>> members;
    for (const std::set<std::string>& keys : *options_.groups) members.push_back(with_keys(keys));
    for (Figure& figure : diogenes::together(grouping, members)) {
      Group& group = groups.emplace_back();
      group.benefit = figure.benefit;
      group.figure = std::move(figure);
    }
    return groups;
  }

  // All problems but those that are allowed.
  void add_together(const GroupingInput& grouping, Description& description) {
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < grouping.problems.size(); ++i)
      if (!options_.allowed.contains(report_.problems[i].source_key)) members.push_back(i);
    Figure all;
    if (!members.empty()) description.add_together(all = diogenes::together(grouping, members));
    if (loop_)
      report_.main_loop = {loop_->iterations, loop_->calls, gained_in_loop(members, all.benefit).seconds()};
  }

  Nanoseconds gained_in_loop(const std::vector<uint32_t>& members, Nanoseconds all) const {
    std::vector<const std::vector<Change>*> parts;
    for (uint32_t member : members) parts.push_back(&problems_.found[member].changes);
    const std::vector<Change> changes = merged(parts);
    const std::vector<Change> inside = changes_in(*loop_, *tracing_, graph_, changes);
    if (inside.empty()) return {};
    return inside.size() == changes.size() ? all : models_->figure(inside).benefit;
  }

  void finish_notices() {
    for (auto& [operation, entry] : functions_) {
      entry.operation = operation;
      report_.functions.push_back(entry);
    }
    std::stable_sort(report_.functions.begin(), report_.functions.end(),
                     [](const ReportFunction& a, const ReportFunction& b) { return a.call_s > b.call_s; });
    bool any_run = tracing_ || memory_tracing_ || sync_use_;
    if (any_run && !used_cuda_)
      report_.notices.push_back({"no-cuda", "the program did not use CUDA: nothing to measure"});
    for (std::string& line : names_.notices()) report_.notices.push_back({"names", std::move(line)});
  }

  fs::path folder_;
  Session session_;
  AnalysisOptions options_;
  necessity::Check check_;
  double threshold_percent_ = 0.1, unmatched_ = 0;
  SiteTable sites_;
  std::optional<Run> tracing_, memory_tracing_, sync_use_;
  std::optional<GpuTimesFound> gpu_times_;  // of stage 3's run
  std::vector<std::string> lost_;           // what runs could not record
  std::optional<MainLoop> loop_;            // of tracing_
  std::vector<SiteVerdicts> verdicts_;
  std::vector<SiteFirstUses> first_uses_;
  std::vector<CallContext> call_contexts_;
  EventGraph graph_;
  std::optional<Replay> replay_;
  std::optional<Models> models_;
  Problems problems_;
  std::vector<std::string> keys_;  // of problems_
  StackNames names_;
  SourceLines source_;
  std::vector<BroughtValues> brought_;
  std::vector<FollowedValues> followed_;
  std::vector<FollowedPlace> to_follow_;
  std::map<std::string, ReportFunction> functions_;
  std::string problem_;  // with what was asked for
  bool used_cuda_ = false, calibrated_ = false, has_gpu_run_ = false;
  replay::Machine machine_ = kAssumedMachine;
  FurtherRuns further_;
  Report report_;
};

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

using Analyses = std::vector<std::unique_ptr<Analysis>>;

// The verdicts are checked beside all that follows from them. Where they do not hold, it is done again with those that
// do; that is rare.
Result<Report> run_analysis(std::unique_ptr<Analysis>& analysis, const fs::path& session_folder,
                            const Session& session, const AnalysisOptions& options) {
  analysis = std::make_unique<Analysis>(session_folder, session, options, necessity::Check::beside);
  Result<Report> report = analysis->run();
  if (analysis->verdicts_hold()) return report;
  analysis.reset();
  analysis = std::make_unique<Analysis>(session_folder, session, options, necessity::Check::first);
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
  std::unique_ptr<Analysis> analysis;
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
    std::unique_ptr<Analysis> other;
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

Result<Report> analyse(const fs::path& session_folder, const AnalysisOptions& options, FurtherRuns* further) {
  return analyse_all(session_folder, options, further, nullptr);
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
