#include "analysis/report/description.h"

#include <algorithm>
#include <set>

#include "analysis/findings/fixes.h"
#include "analysis/report/coverage.h"
#include "analysis/symbols/wording.h"
#include "driver/catalogue.h"

namespace diogenes {
namespace {

ReportRange range_of(const Figure& figure) {
  return {figure.low.seconds(), figure.high.seconds(), figure.reason, figure.paper.seconds(),
          figure.replay.seconds()};
}

const char* value_use_code(ValueUse use, bool launch) {
  switch (use) {
    case ValueUse::branch:
      return "decides-a-branch";
    case ValueUse::address:
      return "selects-memory";
    case ValueUse::system_call:
      return "goes-into-a-system-call";
    case ValueUse::driver:
      return launch ? "is-passed-to-a-kernel" : "is-passed-to-the-driver";
    case ValueUse::nothing:
      return "is-overwritten-unused";
    case ValueUse::untouched:
      return "is-kept-to-the-end";
    default:
      return "not-followed-further";
  }
}

bool is_launch(const std::vector<ReportFrame>& stack) {
  const DriverFunction* function =
      stack.empty() ? nullptr : driver_function(find_driver_function(stack[0].function));
  return function && function->role == Role::launch;
}

}  // namespace

double Description::percent(Nanoseconds benefit) const {
  return report_.whole_s() > 0 ? 100 * benefit.seconds() / report_.whole_s() : 0;
}

std::vector<ReportOccurrence> Description::occurrences(const std::map<uint32_t, uint64_t>& by_thread) const {
  constexpr size_t kMostThreads = 16;  // of a process, named
  std::map<uint32_t, ReportOccurrence> by_process;
  for (auto [graph_thread, count] : by_thread) {
    auto [process, position] = graph_.origin[graph_thread];
    const Thread& thread = tracing_.processes[process].threads[position];
    ReportOccurrence& out = by_process[process];
    out.process = process;
    out.count += count;
    ++out.thread_count;
    out.threads.push_back({thread.ordinal, thread.main, count});
  }
  std::vector<ReportOccurrence> all;
  for (auto& [process, one] : by_process) {
    std::stable_sort(one.threads.begin(), one.threads.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
    if (one.threads.size() > kMostThreads) one.threads.resize(kMostThreads);
    all.push_back(std::move(one));
  }
  return all;
}

const std::vector<ReportFrame>& Description::most_frequent(
    const std::vector<std::pair<StackPlace, uint64_t>>& places) {
  static const std::vector<ReportFrame> kNone;
  return places.empty() ? kNone : names_.stack(places.front().first);
}

std::optional<ReportValue> Description::value_of(SiteIndex site, uint64_t count,
                                                 std::optional<Nanoseconds> after, Nanoseconds most) {
  if (site.value >= followed_.size() || followed_[site.value].followed == 0) return std::nullopt;
  const FollowedValues& followed = followed_[site.value];
  ReportValue value{followed.followed, followed.instances, followed.copied,    followed.converted,
                    followed.computed, followed.later,     followed.elsewhere, {},
                    std::nullopt};
  for (const ValueOutcome& outcome : followed.outcomes) {
    ReportValueUse& out = value.uses.emplace_back();
    out.stack = names_.stack(outcome.place);
    out.use = value_use_code(outcome.use, outcome.use == ValueUse::driver && is_launch(out.stack));
    out.count = outcome.count;
    if (outcome.use != ValueUse::nothing && is_consequence(outcome.use))
      out.after_s = Nanoseconds{outcome.after_ns[outcome.after_ns.size() / 2]}.seconds();
  }
  // Copies that are used later: what a wait right before that use could gain at most, if all instances were like these.
  const ReportValueUse& first = value.uses.front();
  if (followed.copied == followed.followed && followed.computed == 0 && first.after_s && after)
    value.moved_up_to_s =
        std::min(most.seconds(), static_cast<double>(count) * (after->seconds() + *first.after_s));
  return value;
}

void Description::add(const Problem& problem) {
  const Site& site = sites_[problem.site];
  ReportProblem& out = report_.problems.emplace_back();
  out.id = "P" + std::to_string(report_.problems.size());
  out.kind = kind_name(problem.kind);
  out.key = site_key_text(site.key) + "-" + out.kind;
  out.operation = operation_name(site);
  out.stack = names_.stack(site.place);
  out.api = runtime_api(out.stack);
  out.via = called_library(out.stack);
  if (const ReportFrame* frame = acting_frame(out.stack)) {
    out.where = *frame;
    out.source = names_.source(*frame, source_);
  }
  out.count = problem.count;
  out.instances = problem.instances;
  out.occurrences = occurrences(problem.threads);
  out.waited_s = problem.waited.seconds();
  out.call_s = problem.call.seconds();
  out.bytes = problem.bytes.count;
  out.expected_benefit_s = problem.benefit.seconds();
  out.expected_benefit_percent = percent(problem.benefit);
  out.range = range_of(problem.figure);
  if (problem.after)
    out.first_use = ReportUse{problem.after->seconds(), most_frequent(problem.uses),
                              value_of(problem.site, problem.count, problem.after, problem.waited)};
  out.duplicate_of = most_frequent(problem.duplicates);
  out.lost_at = most_frequent(problem.lost);
  Advice advice = advice_for(problem, *function_of(site), place_of(most_frequent(problem.uses)),
                             place_of(most_frequent(problem.allocation_places)), library_wait(out.stack),
                             advice_where_nothing_needs_it(out.stack));
  out.why = std::move(advice.why);
  out.fix = std::move(advice.fix);
  out.conditions = std::move(advice.conditions);
}

void Description::add(const Required& required, const std::vector<BroughtValues>& brought) {
  const Site& site = sites_[required.site];
  ReportRequired& out = report_.required.emplace_back();
  out.id = "R" + std::to_string(report_.required.size());
  const std::string kind = required.sends ? "-sent" : "-required";
  out.key = site_key_text(site.key) + kind;
  out.operation = operation_name(site);
  out.stack = names_.stack(site.place);
  out.api = runtime_api(out.stack);
  out.via = called_library(out.stack);
  if (const ReportFrame* frame = acting_frame(out.stack)) out.where = *frame;
  out.count = required.count;
  out.not_judged = required.not_judged;
  out.queries = required.queries;
  out.launches = required.launches;
  out.in_a_row = required.in_a_row;
  out.turns = required.turns;
  out.loops = required.loops;
  out.in_parts = required.in_parts;
  out.bytes = required.bytes.count;
  out.unused_bytes = required.unused.count;
  out.without_unused_s = required.without_unused.seconds();
  out.sends = required.sends;
  out.made_s = required.made.seconds();
  out.between_s = required.between.seconds();
  out.work_s = required.work.seconds();
  out.at_most_s = required.at_most.seconds();
  out.waits_gain_s = required.waits_gain.seconds();
  out.instances = required.instances;
  out.occurrences = occurrences(required.threads);
  out.waited_s = required.waited.seconds();
  out.call_s = required.call.seconds();
  for (const RequiredCall& call : required.calls) {
    const Site& its = sites_[call.site];
    out.calls.push_back(
        {site_key_text(its.key) + kind, operation_name(its), names_.api(its), call.count, call.waits});
    if (call.site.value >= brought.size()) continue;
    out.same_value += brought[call.site.value].same;
    out.values += brought[call.site.value].all;
  }
  out.up_to_s = required.up_to.benefit.seconds();
  out.up_to_percent = percent(required.up_to.benefit);
  out.fix = required_fix(required, advice_where_it_waits(out.stack));
  out.part = required.part_name;
  out.range = range_of(required.up_to);
  out.reasons = by_code(required.reasons);
  uint64_t most = 0;
  uint32_t main_reason = 0;
  for (auto [bit, count] : required.reasons) {
    // That another thread may use it follows from its not being watched.
    const bool explains = main_reason == kOtherThread && (bit & kUnwatchedReasons) != 0 && count == most;
    if (!*use_words(bit) || (count <= most && !explains)) continue;
    most = count;
    main_reason = bit;
    out.used_for = use_words(bit);
  }
  if (out.used_for.empty() && required.for_changed > 0)
    out.used_for = "the copy before it waits today; once that returns at once, the CPU has to wait here";
  if (!required.uses.empty())
    out.used_by = ReportUse{required.after ? std::optional(required.after->seconds()) : std::nullopt,
                            most_frequent(required.uses), std::nullopt};
  for (const RequiredCall& call : required.calls)
    if (call.waits && out.used_by && !out.used_by->value)
      out.used_by->value = value_of(call.site, required.count, required.after, required.up_to.benefit);
}

// Without lines a reader cannot find the calls. -lineinfo and -g change no code that runs.
void Description::add_line_notices() {
  std::set<std::string> files;
  for (const ReportProblem& problem : report_.problems)
    if (problem.where && problem.where->owner == FrameOwner::application && problem.where->line == 0 &&
        problem.where->language.empty())
      files.insert(problem.where->module);
  for (const std::string& file : files)
    report_.notices.push_back(
        {"no-lines", file + " has no line information where problems are, so they are named by " +
                         "function only; compile it with -g (it changes no code) and measure again"});
}

void Description::add(const Group& group) {
  ReportGroup& out = report_.groups.emplace_back();
  out.id = "G" + std::to_string(report_.groups.size());
  out.grouping = grouping_name(group.grouping);
  out.title = group.title;
  out.expected_benefit_s = group.benefit.seconds();
  out.expected_benefit_percent = percent(group.benefit);
  out.range = range_of(group.figure);
  out.synchronization_issues = group.synchronization_issues;
  out.transfer_issues = group.transfer_issues;
  for (uint32_t member : group.members) out.members.push_back("P" + std::to_string(member + 1));
}

void Description::add_together(const Figure& figure) {
  report_.together = together(figure, report_.whole_s());
}

void Description::add_required_together(const Figure& figure) {
  report_.required_together = together(figure, report_.whole_s());
}

ReportTogether Description::together(const Figure& figure, double whole_s) {
  const double gain = figure.benefit.seconds();
  return {gain, whole_s > 0 ? 100 * gain / whole_s : 0, range_of(figure)};
}

}  // namespace diogenes
