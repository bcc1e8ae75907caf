#include "analysis/findings/required.h"

#include <algorithm>
#include <utility>

namespace diogenes {
namespace {

// A wait that moves to the first use is needed still. Where that gains less than half of what is waited, the rest is for
// those who ask for the result less often, or not on the CPU.
bool leaves_most(const Problem& problem) {
  return problem.kind == ProblemKind::misplaced_synchronization &&
         2 * problem.benefit.count < problem.waited.count;
}

// By thread of the graph and operation: what the problems change stays theirs.
std::vector<std::vector<bool>> changed_by(const std::vector<Problem>& problems, size_t threads) {
  std::vector<std::vector<bool>> changed(threads);
  for (const Problem& problem : problems) {
    if (leaves_most(problem)) continue;
    for (const Change& change : problem.changes) {
      std::vector<bool>& operations = changed[change.thread];
      if (operations.size() <= change.operation) operations.resize(change.operation + 1);
      operations[change.operation] = true;
    }
  }
  return changed;
}

bool brings_to_host(const DriverFunction& function) {
  return function.role == Role::transfer && function.direction == Direction::device_to_host;
}

using Content = std::pair<uint64_t, uint64_t>;

BroughtValues most_frequent(std::vector<Content>& contents) {
  std::sort(contents.begin(), contents.end());
  BroughtValues result{contents.size(), 0};
  for (auto first = contents.begin(); first != contents.end();) {
    const auto next = std::upper_bound(first, contents.end(), *first);
    result.same = std::max(result.same, static_cast<uint64_t>(next - first));
    first = next;
  }
  return result;
}

}  // namespace

std::vector<BroughtValues> brought_values(const Run& memory_tracing, const SiteTable& sites) {
  std::vector<std::vector<Content>> contents(sites.size());
  for (const Process& process : memory_tracing.processes)
    for (const Thread& thread : process.threads)
      for (const CopyContent& content : thread.contents) {
        const SiteIndex site = thread.operations[content.operation].site;
        const DriverFunction* driver = function_of(sites[site]);
        if (driver && driver->direction == Direction::device_to_host)
          contents[site.value].emplace_back(content.hash[0], content.hash[1]);
      }
  std::vector<BroughtValues> result(sites.size());
  for (size_t site = 0; site < result.size(); ++site) result[site] = most_frequent(contents[site]);
  return result;
}

std::vector<Required> find_required(const ProblemInput& input, const std::vector<Problem>& problems,
                                    Nanoseconds least, size_t most) {
  const auto changed = changed_by(problems, input.graph.threads.size());
  std::map<uint32_t, Required> by_site;
  std::map<uint32_t, std::vector<Change>> changes;
  std::map<uint32_t, std::vector<int64_t>> after;
  for (uint32_t t = 0; t < input.graph.threads.size(); ++t) {
    auto [process, thread] = input.graph.origin[t];
    const auto& operations = input.tracing.processes[process].threads[thread].operations;
    std::vector<Change> copies;  // to the host, since the thread waited last
    const auto change_of = [&](uint32_t i, bool waits) {
      const DriverFunction* function = function_of(input.sites[operations[i].site]);
      Change change;
      change.thread = t;
      change.operation = i;
      change.wait = input.graph.threads[t].wait_at[i];
      change.waits = waits;
      change.launch_first = launches_first(function);
      change.own = operations[i].own();
      change.call_removed = function && (function->role == Role::synchronize || brings_to_host(*function));
      if (waits) change.wait_change = Change::Wait::removed;
      return change;
    };
    for (uint32_t i = 0; i < operations.size(); ++i) {
      const Operation& operation = operations[i];
      const bool is_changed = i < changed[t].size() && changed[t][i];
      if (!is_program_wait(operation)) {
        const DriverFunction* function = function_of(input.sites[operation.site]);
        if (function && brings_to_host(*function) && !is_changed) copies.push_back(change_of(i, false));
        continue;
      }
      const std::vector<Change> brought = std::exchange(copies, {});
      if (!is_candidate(operation) || operation.outside) continue;
      Required& required = by_site[operation.site.value];
      required.site = operation.site;
      ++required.instances;
      // A call that waits for its own work has no result that could be asked for later.
      if (operation.reasons == 0 || (operation.reasons & kOwnWork) != 0) continue;
      if (is_changed) continue;
      ++required.count;
      required.not_judged += is_not_judged(operation.reasons);
      ++required.threads[t];
      required.waited += operation.waited;
      required.call += operation.call;
      for (uint32_t bit = 1; bit != 0; bit <<= 1)
        if ((operation.reasons & bit) != 0) ++required.reasons[bit];
      if (operation.after.count >= 0) after[operation.site.value].push_back(operation.after.count);
      std::vector<Change>& all = changes[operation.site.value];
      all.insert(all.end(), brought.begin(), brought.end());
      all.push_back(change_of(i, true));
    }
  }

  std::vector<Required> found;
  for (auto& [site, required] : by_site)
    if (required.waited >= least && required.waited.count > 0) found.push_back(std::move(required));
  std::stable_sort(found.begin(), found.end(),
                   [](const Required& a, const Required& b) { return a.waited > b.waited; });
  if (found.size() > most) found.resize(most);
  Models paper(input.graph, nullptr, Model::paper);
  std::vector<Models::Parts> alone;
  for (const Required& required : found) alone.push_back({&changes[required.site.value]});
  const std::vector<Figure> figures = (input.models ? *input.models : paper).figures(alone);
  for (size_t i = 0; i < found.size(); ++i) {
    Required& required = found[i];
    required.up_to = figures[i];
    if (auto& times = after[required.site.value]; !times.empty()) {
      const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
      std::nth_element(times.begin(), middle, times.end());
      required.after = Nanoseconds{*middle};
    }
    if (required.site.value < input.verdicts.size()) required.uses = input.verdicts[required.site.value].uses;
  }
  std::erase_if(found, [](const Required& required) { return required.up_to.benefit.count <= 0; });
  std::stable_sort(found.begin(), found.end(),
                   [](const Required& a, const Required& b) { return a.up_to.benefit > b.up_to.benefit; });
  return found;
}

}  // namespace diogenes
