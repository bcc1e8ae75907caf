#include "analysis/report_of_run.h"

#include <algorithm>
#include <set>

#include "analysis/findings/repeats.h"
#include "analysis/findings/required.h"
#include "analysis/findings/right_together.h"
#include "analysis/profile/profile.h"
#include "analysis/program/code_loading.h"
#include "analysis/program/profiled_span.h"
#include "analysis/report/callers.h"
#include "analysis/report/coverage.h"
#include "analysis/report/gpu_phase.h"
#include "analysis/report/notices.h"
#include "analysis/report/source_key.h"
#include "analysis/report/timeline.h"
#include "analysis/report/totals.h"
#include "analysis/symbols/wording.h"
#include "base/in_background.h"

namespace diogenes {

namespace fs = std::filesystem;

namespace {

// Needed waits are worth a word from this share of the main loop, or of the GPU phase, on, and those of one line from a quarter of
// it; each line that is looked at is one more replay.
constexpr double kRequiredShare = 0.01;
constexpr size_t kMostRequired = 16, kFewestRequired = 6;
constexpr size_t kMostOperations = 20'000'000;  // operations, for all of them
constexpr size_t kMostOfProfile = 4'000'000;

constexpr const char* kOfThePart =
    "; percentages are of that time. Kernels, idle time and the tree of calling contexts are of the whole run";

size_t operations_of(const Run& tracing) {
  size_t operations = 1;
  for (const Process& process : tracing.processes)
    for (const Thread& thread : process.threads) operations += thread.operations.size();
  return operations;
}
size_t lines_to_look_at(const Run& tracing) {
  return std::clamp(kMostOperations / operations_of(tracing), kFewestRequired, kMostRequired);
}
// A profile is to be there soon.
size_t lines_of_profile(const Run& tracing) {
  return std::clamp<size_t>(kMostOfProfile / operations_of(tracing), 1, kFewestRequired);
}

}  // namespace

ReportOfRun::ReportOfRun(fs::path folder, Session session, const AnalysisOptions& options,
                         necessity::Check check)
    : session_(std::move(session)),
      options_(options),
      runs_(folder, session_, {options.tracing_run, options.judge, check, options.window}),
      names_(owners(), folder / "names.json"),
      source_(session_.started_ns) {
  report_.model = model_name(options.model);
  threshold_percent_ =
      options.threshold_percent >= 0 ? options.threshold_percent : session_.threshold_percent;
}

Result<Report> ReportOfRun::run() {
  describe_session();
  session_notices(session_, report_.notices);
  runs_.load([this](const Site& site) {
    const std::string where = place_of(names_.stack(site.place));
    return names_.called(site) + (where.empty() ? "" : " at " + where);
  });
  if (runs_.tracing && !report_.judged) {
    named_ = in_background([this] {
      return find_names(*runs_.tracing, runs_.sites, names_,
                        runs_.cpu_samples ? &*runs_.cpu_samples : nullptr);
    });
    runs_.take_gpu_times_of_profile();
  }
  if (runs_.window) describe_window();
  report_.notices.insert(report_.notices.end(), runs_.notices.begin(), runs_.notices.end());
  describe_process();
  if (runs_.tracing) mark_part();
  // Of a profile little needs the model: it is made beside the rest.
  if (runs_.tracing && !report_.judged) {
    model_made_ = in_background([this] { make_model(); });
    if (gpu_work_known()) start_idle();
  }
  if (runs_.tracing) add_totals(*runs_.tracing, runs_.sites, report_, functions_);
  if (runs_.tracing) {
    if (report_.judged) report_.coverage = coverage_of(*runs_.tracing);
    const Nanoseconds phase = gpu_phase(*runs_.tracing, runs_.sites);
    report_.gpu_phase_s = std::min(phase.seconds(), report_.runtime_s);
    report_.gpu_in_use_s = std::min(gpu_in_use(*runs_.tracing, runs_.sites).seconds(), report_.runtime_s);
    loop_ = main_loop(*runs_.tracing);
    const size_t notices_before = report_.notices.size();
    if (report_.judged)
      find();
    else
      describe_profile();
    // Last, since the launcher may still look into files; its notices come first.
    const size_t found = report_.notices.size();
    say_code_loading();
    const auto at = [this](size_t i) { return report_.notices.begin() + static_cast<ptrdiff_t>(i); };
    std::rotate(at(notices_before), at(found), report_.notices.end());
  }
  const uint32_t unreadable = runs_.tracing ? runs_.tracing->trace.unreadable : 0;
  if (report_.judged && (used_cuda_ || !runs_.tracing || unreadable > 0)) {
    report_.incomplete = what_is_missing(session_, runs_.tracing.has_value(),
                                         runs_.memory_tracing.has_value(), report_.coverage);
    if (unreadable > 0)
      report_.incomplete.push_back("of " + counted(unreadable, "process", "processes") +
                                   " nothing could be read: " + runs_.tracing->trace.missing.front());
    report_.incomplete.insert(report_.incomplete.end(), runs_.lost.begin(), runs_.lost.end());
  }
  finish_notices();
  if (Status kept = names_.keep(); !kept) report_.notices.push_back({"names", kept.error().c_str()});
  if (!problem_.empty()) return error("%s", problem_.c_str());
  return std::move(report_);
}

// Of the problems with these keys; none of them is in this run: nothing. After run().
std::optional<Figure> ReportOfRun::together(const std::set<std::string>& keys) const {
  const std::vector<uint32_t> members = with_keys(keys);
  if (members.empty()) return std::nullopt;
  return diogenes::together({*runs_.tracing, runs_.sites, runs_.graph, problems_.found, &*models_}, members);
}
std::vector<uint32_t> ReportOfRun::with_keys(const std::set<std::string>& keys) const {
  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < keys_.size(); ++i)
    if (keys.contains(keys_[i])) members.push_back(i);
  return members;
}

OwnerChoices ReportOfRun::owners() const {
  OwnerChoices all = session_.owners;
  all.own.insert(all.own.end(), options_.owners.own.begin(), options_.owners.own.end());
  all.library.insert(all.library.end(), options_.owners.library.begin(), options_.owners.library.end());
  return all;
}

void ReportOfRun::describe_session() {
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
  report_.judged = !session_.request.profile;
  if (!base && session_.request.profile) base = run_of(session_, stage_name(Stage::gpu_times));
  report_.runtime_s = base ? base->runtime_s : 0;
  for (const StageRun& run : session_.runs)
    report_.stages.push_back(
        {run.name, run.runtime_s, report_.runtime_s > 0 ? run.runtime_s / report_.runtime_s : 0});
}

void ReportOfRun::describe_window() {
  report_.window = runs_.window;
  report_.runtime_s = runs_.window->seconds;
}

// Without it, the report is of the whole run, or of what cuProfilerStart marks, and not complete.
bool ReportOfRun::mark_region(const std::string& region) {
  const std::optional<ProfiledSpan> part = mark_what_is_outside_ranges(*runs_.tracing);
  if (!part) {
    runs_.lost.push_back(no_such_range(region, *runs_.tracing) +
                         "; the report is as if --region were not given");
    return false;
  }
  report_.part = {"NVTX range " + region, part->times, std::min(part->time.seconds(), report_.runtime_s)};
  report_.notices.push_back({"marked-part", "findings are from inside the NVTX range '" + region +
                                                "', which the program enters " +
                                                counted(part->times, "time", "times") + kOfThePart});
  return true;
}

void ReportOfRun::mark_part() {
  if (const std::string& region = session_.request.region; !region.empty() && mark_region(region)) return;
  const std::optional<ProfiledSpan> part = mark_what_is_outside(*runs_.tracing, runs_.sites);
  if (!part) return;
  report_.part = {"cuProfilerStart", part->times, std::min(part->time.seconds(), report_.runtime_s)};
  report_.notices.push_back(
      {"marked-part",
       "findings are from between cuProfilerStart and cuProfilerStop, which the program calls " +
           counted(part->times, "time", "times") + kOfThePart});
}

void ReportOfRun::say_code_loading() {
  const auto files = options_.gpu_code ? options_.gpu_code() : session_.gpu_code;
  for (const Process& process : runs_.tracing->processes) {
    const ProcessFile& file = process.trace->process;
    if (file.capability_major == 0) continue;
    const FrameOwners of_program(file.executable, owners());
    code_loading_notices(
        files, code_loading(*runs_.tracing, runs_.sites), {file.capability_major, file.capability_minor},
        report_.runtime_s, [&](const std::string& loaded) { return of_program.is_own(loaded); },
        [this](SiteIndex site) { return place_of(names_.stack(runs_.sites[site].place)); }, report_.notices);
    return;
  }
}

void ReportOfRun::describe_process() {
  if (runs_.tracing)
    for (const Process& process : runs_.tracing->processes) {
      const ProcessFile& file = process.trace->process;
      report_.processes.push_back({file.rank >= 0 ? std::optional<int>(file.rank) : std::nullopt, file.pid,
                                   file.host, file.executable});
    }
  for (const auto* run : {&runs_.tracing, &runs_.memory_tracing, &runs_.sync_use, &runs_.baseline}) {
    if (!*run) continue;
    for (const Process& process : (*run)->processes) {
      const ProcessFile& file = process.trace->process;
      used_cuda_ |= file.used_cuda != 0;
      if (!file.used_cuda) continue;
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

void ReportOfRun::make_model() {
  if (!runs_.replay) runs_.build_model();
  models_.emplace(runs_.graph, &*runs_.replay, options_.model);
}

const Replay& ReportOfRun::model() {
  if (model_made_.valid())
    model_made_.get();
  else if (!models_)
    make_model();
  return *runs_.replay;
}

void ReportOfRun::find() {
  names_.find(runs_.sites);
  // Of the time in which the GPU is used: imports and the driver's start are no measure of what a fix is worth.
  const double whole = !report_.part && report_.gpu_in_use_s > 0 ? report_.gpu_in_use_s : report_.whole_s();
  const Nanoseconds threshold{static_cast<int64_t>(whole * 1e9 * threshold_percent_ / 100)};
  const Replay& replay = model();
  runs_.replay->set_unmatched(runs_.unmatched);
  const Models& models = *models_;
  const ProblemInput input{
      *runs_.tracing,   runs_.sites, runs_.graph, runs_.verdicts,
      runs_.first_uses, threshold,   &models,     runs_.memory_tracing ? &runs_.call_contexts : nullptr};
  problems_ = find_problems(input);
  set_apart(problems_.found, runs_.graph, &models);
  const Problems& problems = problems_;
  Description description(report_, names_, source_, runs_.sites, *runs_.tracing, runs_.graph, runs_.followed);
  for (const Problem& problem : problems.found) description.add(problem);
  for (const ReportProblem& problem : report_.problems) keys_.push_back(problem.key);
  std::map<std::string, Models::Parts> by_operation;
  for (const Problem& problem : problems.found)
    by_operation[operation_name(runs_.sites[problem.site])].push_back(&problem.changes);
  std::vector<Models::Parts> of_operations;
  for (auto& [operation, parts] : by_operation) of_operations.push_back(std::move(parts));
  const std::vector<Figure> of_each = models.figures(of_operations);
  size_t next = 0;
  for (const auto& [operation, parts] : by_operation)
    functions_[operation].expected_benefit_s = of_each[next++].benefit.seconds();
  GroupingInput grouping{*runs_.tracing, runs_.sites, runs_.graph, problems.found, &models};
  const std::vector<Group> groups =
      options_.groups ? groups_asked_for(grouping) : find_groups(grouping, names_);
  for (const Group& group : groups) description.add(group);
  add_parts(grouping, groups, description);
  const RequiredWaits needed =
      add_needed(input, problems.found, lines_to_look_at(*runs_.tracing), description);
  tell_callers_apart(report_.problems, stacks_of_needed_waits(problems.found));
  if (!runs_.sync_use)
    to_follow_ =
        places_to_follow(needed.found, problems.found, {static_cast<int64_t>(report_.gpu_in_use_s * 1e9)});
  add_profile();
  if (options_.timeline > 0)
    report_.timeline = timeline_of(input, problems.found, needed.found, work_names(), options_.timeline);
  set_source_keys(report_);
  add_together(grouping, description);
  description.add_line_notices();
  note_further_runs(problems, replay);
  if (options_.model == Model::replay) mismatch_notice(replay.mismatch(), report_.notices);
  problem_notices(problems, runs_.graph, threshold_percent_, options_.model, report_.notices);
}

// Waits that are no mistake, or of which nobody knows, and that cost much all the same.
RequiredWaits ReportOfRun::add_needed(const ProblemInput& input, const std::vector<Problem>& problems,
                                      size_t most, Description& description) {
  double phase_s = report_.gpu_in_use_s;
  if (loop_) phase_s = std::min(phase_s, (loop_->end - loop_->begin).seconds());
  RequiredWaits needed = find_required(
      input, problems,
      {[this](SiteIndex site) { return acting_place(names_.stack(runs_.sites[site].place)); },
       [this](SiteIndex call, SiteIndex wait) {
         return made_at_line_of(names_.stack(runs_.sites[call].place), names_.stack(runs_.sites[wait].place));
       },
       [this](SiteIndex site) {
         const std::vector<ReportFrame> stack = names_.stack(runs_.sites[site].place);
         const ReportFrame* frame = acting_frame(stack);
         return frame && frame->language == "python";
       },
       [this](SiteIndex site) { return advice_where_it_waits(names_.stack(runs_.sites[site].place)); },
       [this](SiteIndex call, SiteIndex wait) {
         return made_in_function_of(names_.stack(runs_.sites[call].place),
                                    names_.stack(runs_.sites[wait].place));
       },
       [this](SiteIndex call, SiteIndex wait) {
         return made_in_part_of(names_.stack(runs_.sites[call].place), names_.stack(runs_.sites[wait].place));
       },
       &runs_.brought, longer_than_undisturbed()},
      {static_cast<int64_t>(phase_s * 1e9 * kRequiredShare)}, most);
  for (const Required& required : needed.found) description.add(required, runs_.brought);
  if (std::any_of(needed.found.begin(), needed.found.end(), [](const Required& one) { return !one.sends; }))
    description.add_required_together(needed.together);
  return needed;
}

// Not known of a profile, and of a run that ended early.
Nanoseconds ReportOfRun::longer_than_undisturbed() const {
  const StageRun* base = run_of(session_, stage_name(Stage::baseline));
  const StageRun* traced = run_of(session_, stage_name(Stage::tracing));
  if (!report_.judged || !base || !traced) return {};
  return {static_cast<int64_t>(1e9 * (traced->runtime_s - base->runtime_s))};
}

// Of those at lines where problems are.
std::vector<std::vector<ReportFrame>> ReportOfRun::stacks_of_needed_waits(
    const std::vector<Problem>& problems) {
  std::set<ActingPlace> places;
  for (const Problem& problem : problems)
    if (const auto place = acting_place(names_.stack(runs_.sites[problem.site].place))) places.insert(*place);
  std::vector<bool> seen(runs_.sites.size());
  std::vector<std::vector<ReportFrame>> stacks;
  for (const Process& process : runs_.tracing->processes)
    for (const Thread& thread : process.threads)
      for (const Operation& operation : thread.operations) {
        if (operation.reasons == 0 || !is_program_wait(operation) || seen[operation.site.value]) continue;
        seen[operation.site.value] = true;
        const std::vector<ReportFrame> stack = names_.stack(runs_.sites[operation.site].place);
        if (const auto place = acting_place(stack); place && places.contains(*place)) stacks.push_back(stack);
      }
  return stacks;
}

// Of `diogenes profile`, whose run is the only one.
void ReportOfRun::describe_profile() {
  add_profile();
  const Replay& replay = model();
  const ProblemInput input{*runs_.tracing,   runs_.sites, runs_.graph, runs_.verdicts,
                           runs_.first_uses, {},          &*models_,   nullptr};
  Description description(report_, names_, source_, runs_.sites, *runs_.tracing, runs_.graph, runs_.followed);
  const RequiredWaits waits = add_needed(input, {}, lines_of_profile(*runs_.tracing), description);
  for (ReportRequired& one : report_.required)
    if (!one.sends) one.reasons = {{kOnlyProfiled, one.not_judged = one.count}};
  if (loop_) report_.main_loop = {loop_->iterations, loop_->calls, 0, (loop_->end - loop_->begin).seconds()};
  if (options_.timeline > 0)
    report_.timeline = timeline_of(input, {}, waits.found, work_names(), options_.timeline);
  if (options_.model == Model::replay) mismatch_notice(replay.mismatch(), report_.notices);
}

// What each operation's GPU work is called, by GpuWorkFound::mixes: of several pieces the longest.
std::vector<std::string> ReportOfRun::work_names() const {
  std::vector<std::string> names;
  if (!runs_.gpu_work) return names;
  for (const auto& mix : runs_.gpu_work->mixes) {
    std::string& name = names.emplace_back();
    if (mix.empty()) continue;
    const GpuWorkItem& longest = runs_.gpu_work->items[mix.front().item];
    if (longest.kind != GpuWork::other) name = work_name(longest) + (mix.size() > 1 ? " and others" : "");
  }
  return names;
}

void ReportOfRun::start_idle() {
  idle_ = in_background([this] { return find_idle(*runs_.tracing, runs_.schedules); });
}

// Where time went, as far as GPU times were taken.
void ReportOfRun::add_profile() {
  if (!gpu_work_known()) {
    if (named_.valid()) named_.get();
    return;
  }
  if (!idle_.valid()) start_idle();
  Models::Parts parts;
  std::map<uint32_t, double> recoverable;
  for (const Problem& problem : problems_.found) {
    recoverable[problem.site.value] += problem.benefit.seconds();
    if (!problem.apart) parts.push_back(&problem.changes);
  }
  std::optional<Models::Made> made;
  if (!parts.empty()) made = models_->make(parts);
  report_.profile =
      make_profile({.tracing = *runs_.tracing,
                    .sites = runs_.sites,
                    .work = &*runs_.gpu_work,
                    .names = names_,
                    .replay = [this] { return &model(); },
                    .fixed = made && made->replayed ? &*made->replayed : nullptr,
                    .recoverable_s = std::move(recoverable),
                    .loop = loop_,
                    .samples = [this] { return named_.valid() ? named_.get() : decltype(named_.get()){}; },
                    .idle = [this] { return idle_.get(); },
                    .gpu_samples = runs_.gpu_samples,
                    .sampled_time = &runs_.sampled_time,
                    .source = [this](const std::string& file, int first,
                                     int last) { return source_.between(file, first, last); }});
}

void ReportOfRun::note_further_runs(const Problems& problems, const Replay& replay) {
  RunsSoFar so_far;
  so_far.runtime = {static_cast<int64_t>(report_.runtime_s * 1e9)};
  so_far.missed = replay.missed();
  so_far.gpu_times_of_stage_3 = runs_.calibrated && !runs_.has_gpu_run;
  for (const Problem& problem : problems.found) {
    so_far.benefit += problem.benefit;
    so_far.waited += problem.waited;
    if (problem.kind == ProblemKind::misplaced_synchronization && !runs_.sync_use)
      so_far.misplaced.push_back({problem.benefit, runs_.verdicts[problem.site.value].gaps});
  }
  further_ = further_runs(so_far);
  further_.follow = std::move(to_follow_);
}

void ReportOfRun::add_parts(const GroupingInput& grouping, const std::vector<Group>& groups,
                            Description& description) {
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

std::vector<Group> ReportOfRun::groups_asked_for(const GroupingInput& grouping) const {
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
void ReportOfRun::add_together(const GroupingInput& grouping, Description& description) {
  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < grouping.problems.size(); ++i)
    if (!grouping.problems[i].apart && !options_.allowed.contains(report_.problems[i].source_key))
      members.push_back(i);
  Figure all;
  if (!members.empty()) description.add_together(all = diogenes::together(grouping, members));
  if (loop_)
    report_.main_loop = {loop_->iterations, loop_->calls, gained_in_loop(members, all.benefit).seconds(),
                         (loop_->end - loop_->begin).seconds()};
}

Nanoseconds ReportOfRun::gained_in_loop(const std::vector<uint32_t>& members, Nanoseconds all) const {
  std::vector<const std::vector<Change>*> parts;
  for (uint32_t member : members) parts.push_back(&problems_.found[member].changes);
  const std::vector<Change> changes = merged(parts);
  const std::vector<Change> inside = changes_in(*loop_, *runs_.tracing, runs_.graph, changes);
  if (inside.empty()) return {};
  return inside.size() == changes.size() ? all : models_->figure(inside).benefit;
}

void ReportOfRun::finish_notices() {
  for (auto& [operation, entry] : functions_) {
    entry.operation = operation;
    report_.functions.push_back(entry);
  }
  std::stable_sort(report_.functions.begin(), report_.functions.end(),
                   [](const ReportFunction& a, const ReportFunction& b) { return a.call_s > b.call_s; });
  bool any_run = runs_.tracing || runs_.memory_tracing || runs_.sync_use;
  if (any_run && !used_cuda_)
    report_.notices.push_back({"no-cuda", "the program did not use CUDA: nothing to measure"});
  for (std::string& line : names_.notices()) report_.notices.push_back({"names", std::move(line)});
}

}  // namespace diogenes
