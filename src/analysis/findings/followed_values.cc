#include "analysis/findings/followed_values.h"

#include <algorithm>
#include <map>

namespace diogenes {
namespace {

constexpr int64_t kCoarse = 1100;  // ns by which the end of a long call may be off (kCoarseTimes)

// The records of a process, by when the touch was.
using Records = std::multimap<int64_t, const ValueRecord*>;

class RecordCollector {
 public:
  explicit RecordCollector(Records& records) : records_(records) {}
  void operator()(const ValueRecord& record, uint32_t) {
    if (record.use <= kLastValueUse) records_.emplace(record.touched_ns, &record);
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}

 private:
  Records& records_;
};

class SiteBuilder {
 public:
  void add(const ProcessTrace& process, const ValueRecord* record) {
    ++values_.instances;
    if (!record) return;
    ++values_.followed;
    values_.copied += (record->flags & kValueCopied) != 0;
    values_.converted += (record->flags & kValueConverted) != 0;
    values_.computed += (record->flags & kValueComputed) != 0;
    values_.later += (record->flags & kValueWatched) != 0;
    values_.elsewhere += (record->flags & kValueElsewhere) != 0;
    ValueOutcome& outcome = outcomes_[{record->use, {&process, record->stack}}];
    ++outcome.count;
    outcome.after_ns.push_back(std::max<int64_t>(0, record->at_ns - record->touched_ns));
  }

  FollowedValues build() {
    for (auto& [key, outcome] : outcomes_) {
      outcome.use = key.first;
      outcome.place = key.second;
      std::sort(outcome.after_ns.begin(), outcome.after_ns.end());
      values_.outcomes.push_back(std::move(outcome));
    }
    std::stable_sort(
        values_.outcomes.begin(), values_.outcomes.end(), [](const ValueOutcome& a, const ValueOutcome& b) {
          return std::pair(is_consequence(a.use), a.count) > std::pair(is_consequence(b.use), b.count);
        });
    return std::move(values_);
  }

 private:
  FollowedValues values_;
  std::map<std::pair<ValueUse, StackPlace>, ValueOutcome> outcomes_;
};

// Finds the record of an instance's first use: the same stack, at the time that the judge gave.
class InstanceReader {
 public:
  InstanceReader(const Process& process, const Thread& thread, const Records& records,
                 std::map<uint32_t, SiteBuilder>& sites)
      : process_(process), thread_(thread), records_(records), sites_(sites) {}

  void operator()(const CallRecord& record, uint32_t sequence) {
    if (sequence >= thread_.evidence.size()) return;
    const Evidence& evidence = thread_.evidence[sequence];
    if (!evidence.judged || evidence.reasons == 0 || evidence.after_ns < 0 || evidence.use_stack == kNoStack)
      return;
    const Operation& operation = thread_.operations[sequence];
    const int64_t at = operation.end().count + record.after_ns + evidence.after_ns;
    const ValueRecord* found = nullptr;
    for (auto one = records_.lower_bound(at - kCoarse); one != records_.end() && one->first <= at + kCoarse;
         ++one)
      if (one->second->touch_stack == evidence.use_stack) found = one->second;
    sites_[operation.site.value].add(*process_.trace, found);
  }
  template <typename Record>
  void operator()(const Record&, uint32_t) {}

 private:
  const Process& process_;
  const Thread& thread_;
  const Records& records_;
  std::map<uint32_t, SiteBuilder>& sites_;
};

}  // namespace

std::vector<FollowedValues> followed_values(const Run& sync_use, const SiteTable& sites) {
  std::vector<FollowedValues> result(sites.size());
  std::map<uint32_t, SiteBuilder> builders;
  for (const Process& process : sync_use.processes) {
    Records records;
    for (const ThreadTrace& thread : process.trace->threads) thread.visit(RecordCollector(records));
    if (records.empty()) continue;
    for (size_t i = 0; i < process.threads.size(); ++i)
      process.trace->threads[i].visit(InstanceReader(process, process.threads[i], records, builders));
  }
  for (auto& [site, builder] : builders) result[site] = builder.build();
  return result;
}

std::vector<FollowedPlace> places_to_follow(const std::vector<Required>& required,
                                            const std::vector<Problem>& problems, Nanoseconds gpu_phase) {
  std::vector<FollowedPlace> places;
  Nanoseconds cost;
  auto take = [&](const auto& one, Nanoseconds its) {
    if (!one.uses.empty()) cost += its;
    for (const auto& [place, count] : one.uses) {
      const auto frames = place.process->stacks.frames(place.stack);
      const ModuleRecord* module = frames.empty() ? nullptr : place.process->module(frames[0].module());
      if (!module || places.size() == kMostFollowedPlaces) continue;
      const FollowedPlace followed{module_identity(*module), frames[0].offset()};
      const bool known = std::any_of(places.begin(), places.end(), [&](const FollowedPlace& other) {
        return other.module == followed.module && other.offset == followed.offset;
      });
      if (!known) places.push_back(followed);
    }
  };
  for (const Required& one : required) take(one, std::max(one.waited, one.up_to.benefit));
  for (const Problem& problem : problems)
    if (problem.kind == ProblemKind::misplaced_synchronization) take(problem, problem.waited);
  if (cost.count == 0 || 50 * cost.count < gpu_phase.count) places.clear();
  return places;
}

}  // namespace diogenes
