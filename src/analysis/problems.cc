#include "analysis/problems.h"

#include <algorithm>
#include <array>

#include "analysis/fixes.h"

namespace diogenes {
namespace {

// Below this a first use tells nothing: the fault that shows it, and the way out of the hook, take as long.
constexpr Nanoseconds kShortestMove{5'000};

// Instances of one site, sorted by what they are.
struct SiteInstances {
  uint64_t waits = 0, transfers = 0, unnecessary = 0, duplicates = 0, movable = 0, unresolved = 0;
};

bool is_candidate(const Operation& operation) {
  return !operation.has(kFailed) && !operation.has(kCapturing) && !operation.has(kLibraryCall) &&
         !operation.has(kDriverThread);
}
bool is_program_wait(const Operation& operation) {
  return is_wait(operation) && !operation.has(kCapturing) && !operation.has(kLibraryCall) &&
         !operation.has(kDriverThread);
}
bool is_unnecessary(const Operation& operation) {
  return is_wait(operation) && is_candidate(operation) && operation.reasons == 0;
}
bool is_duplicate(const Operation& operation) {
  return is_candidate(operation) && operation.duplicate == Duplicate::verified;
}
bool is_moved(const Operation& operation) {
  return is_wait(operation) && is_candidate(operation) && is_movable(operation.reasons) &&
         operation.after >= kShortestMove;
}

class Finder {
 public:
  explicit Finder(const ProblemInput& input) : in_(input), counts_(input.sites.size()) {}

  Problems find() {
    count();
    for (uint32_t site = 0; site < counts_.size(); ++site) open(SiteIndex{site});
    collect();
    Models paper(in_.graph, nullptr, Model::paper);
    for (Problem& problem : problems_) {
      problem.figure = (in_.models ? *in_.models : paper).figure(problem.changes);
      problem.benefit = problem.figure.benefit;
    }
    drop_duplicates_of_no_weight();
    drop_misplaced_of_no_weight();
    drop_minor();
    for (Problem& problem : problems_) describe(problem);
    std::stable_sort(problems_.begin(), problems_.end(), [&](const Problem& a, const Problem& b) {
      if (a.benefit != b.benefit) return a.benefit > b.benefit;
      if (a.waited != b.waited) return a.waited > b.waited;
      return std::pair(in_.sites[a.site].key, a.kind) < std::pair(in_.sites[b.site].key, b.kind);
    });
    result_.found = std::move(problems_);
    return std::move(result_);
  }

 private:
  template <typename Visit>
  void each_operation(Visit&& visit) {
    for (uint32_t t = 0; t < in_.graph.threads.size(); ++t) {
      auto [process, thread] = in_.graph.origin[t];
      const auto& operations = in_.tracing.processes[process].threads[thread].operations;
      for (uint32_t i = 0; i < operations.size(); ++i) visit(t, i, operations[i]);
    }
  }

  const DriverFunction* function(SiteIndex site) const { return function_of(in_.sites[site]); }

  void count() {
    each_operation([&](uint32_t, uint32_t, const Operation& operation) {
      SiteInstances& site = counts_[operation.site.value];
      const DriverFunction* driver = function(operation.site);
      site.transfers += driver && driver->role == Role::transfer && is_candidate(operation);
      site.duplicates += is_duplicate(operation);
      if (!is_program_wait(operation)) return;
      ++site.waits;
      site.unnecessary += is_unnecessary(operation);
      site.movable += is_candidate(operation) && is_movable(operation.reasons) && operation.after.count >= 0;
      site.unresolved += (operation.reasons & kUnresolved) != 0;
    });
  }

  // Which problems a site may have; whether they matter is decided when their benefit is known.
  void open(SiteIndex index) {
    const SiteInstances& site = counts_[index.value];
    const SiteVerdicts& verdicts = in_.verdicts[index.value];
    first_problem_.push_back({-1, -1, -1});
    if (!function(index)) return;
    auto add = [&](ProblemKind kind, uint64_t instances) {
      first_problem_.back()[static_cast<size_t>(kind)] = static_cast<int>(problems_.size());
      Problem& problem = problems_.emplace_back();
      problem.kind = kind;
      problem.site = index;
      problem.instances = instances;
    };
    if (site.duplicates > 0) add(ProblemKind::duplicate_transfer, site.transfers);
    uint64_t instances = site.waits + verdicts.unmatched_needed;
    if (site.unnecessary > 0) {
      bool always = site.unnecessary == instances;
      if (always || (site.unnecessary >= 2 && 2 * site.unnecessary >= instances))
        add(ProblemKind::unnecessary_synchronization, instances);
      else if (site.unnecessary >= 2)
        ++result_.rarely_unnecessary_sites;
    }
    uint64_t needed = site.waits - site.unnecessary;
    bool all_movable = site.movable > 0 && site.movable + site.unresolved >= needed &&
                       site.unresolved <= verdicts.threads && verdicts.unmatched_needed == 0;
    if (all_movable) add(ProblemKind::misplaced_synchronization, site.waits);
  }

  Problem* problem_of(SiteIndex site, ProblemKind kind) {
    int found = first_problem_[site.value][static_cast<size_t>(kind)];
    return found < 0 ? nullptr : &problems_[static_cast<size_t>(found)];
  }

  // Every problematic instance goes to one problem of its site.
  void collect() {
    each_operation([&](uint32_t thread, uint32_t position, const Operation& operation) {
      Problem* problem = nullptr;
      if (is_duplicate(operation)) problem = problem_of(operation.site, ProblemKind::duplicate_transfer);
      if (!problem && is_unnecessary(operation))
        problem = problem_of(operation.site, ProblemKind::unnecessary_synchronization);
      if (!problem && is_moved(operation))
        problem = problem_of(operation.site, ProblemKind::misplaced_synchronization);
      if (problem) add_instance(*problem, thread, position, operation);
    });
    // The instances that a duplicate's problem took may leave one that is empty, or too rare to be said of
    // the site.
    std::erase_if(problems_, [&](const Problem& problem) {
      if (problem.count == 0) return true;
      bool shares = problem.kind == ProblemKind::unnecessary_synchronization &&
                    counts_[problem.site.value].duplicates > 0;
      return shares && (problem.count < 2 || 2 * problem.count < problem.instances);
    });
  }

  void add_instance(Problem& problem, uint32_t thread, uint32_t position, const Operation& operation) {
    const DriverFunction* driver = function(problem.site);
    Change change;
    change.thread = thread;
    change.operation = position;
    change.wait = in_.graph.threads[thread].wait_at[position];
    change.waits = is_wait(operation);
    change.launch_first = launches_first(driver);
    change.own = operation.own();
    switch (problem.kind) {
      case ProblemKind::duplicate_transfer:
        change.call_removed = true;
        if (is_unnecessary(operation)) {
          change.wait_change = Change::Wait::removed;
          ++problem.unnecessary_waits;
        }
        break;
      case ProblemKind::unnecessary_synchronization:
        change.wait_change = Change::Wait::removed;
        change.call_removed = fix_removes_call(*driver, operation);
        break;
      case ProblemKind::misplaced_synchronization:
        change.wait_change = Change::Wait::moved;
        change.after = operation.after;
        break;
    }
    problem.call_removed |= change.call_removed;
    problem.changes.push_back(change);
    ++problem.count;
    problem.waited += operation.waited;
    problem.call += operation.call;
    problem.bytes += operation.bytes;
  }

  void drop_duplicates_of_no_weight() {
    std::erase_if(problems_, [&](const Problem& problem) {
      return problem.kind == ProblemKind::duplicate_transfer && 2 * problem.count < problem.instances &&
             problem.benefit < in_.threshold;
    });
  }

  void drop_misplaced_of_no_weight() {
    std::erase_if(problems_, [&](const Problem& problem) {
      return problem.kind == ProblemKind::misplaced_synchronization &&
             (problem.benefit < in_.threshold || problem.benefit.count <= 0);
    });
  }

  // Implicit waits that matter neither by themselves nor as what lets another one's saving through.
  void drop_minor() {
    std::vector<const std::vector<Change>*> parts;
    for (const Problem& problem : problems_) parts.push_back(&problem.changes);
    std::vector<Change> all = merged(parts);
    std::vector<Nanoseconds> realised;
    expected_benefit(in_.graph, all, &realised);
    std::vector<Nanoseconds> together(counts_.size());
    for (size_t i = 0; i < all.size(); ++i) {
      auto [process, thread] = in_.graph.origin[all[i].thread];
      const auto& operations = in_.tracing.processes[process].threads[thread].operations;
      together[operations[all[i].operation].site.value] += realised[i];
    }
    std::erase_if(problems_, [&](const Problem& problem) {
      bool implicit = problem.kind == ProblemKind::unnecessary_synchronization &&
                      function(problem.site)->role != Role::synchronize;
      bool minor = implicit && problem.waited < in_.threshold && problem.benefit < in_.threshold &&
                   together[problem.site.value] < in_.threshold;
      if (minor) {
        ++result_.minor_sites;
        result_.minor_instances += problem.count;
      }
      return minor;
    });
  }

  void describe(Problem& problem) {
    const SiteInstances& site = counts_[problem.site.value];
    const SiteVerdicts& verdicts = in_.verdicts[problem.site.value];
    problem.uses = verdicts.uses;
    if (problem.kind == ProblemKind::duplicate_transfer) problem.duplicates = verdicts.duplicates;
    if (problem.kind == ProblemKind::unnecessary_synchronization) {
      uint64_t others = problem.instances - site.unnecessary;
      for (const auto& use : verdicts.uses) problem.used += use.second;
      problem.used = std::min(problem.used, others);
      problem.unwatched = others - problem.used;
    }
    if (problem.kind != ProblemKind::misplaced_synchronization) return;
    std::vector<int64_t> after;
    bool stage_4 = !in_.first_uses.empty() && !in_.first_uses[problem.site.value].after_ns.empty();
    if (stage_4) {
      after = in_.first_uses[problem.site.value].after_ns;
      problem.uses = in_.first_uses[problem.site.value].uses;
    } else {
      ++result_.first_uses_from_stage_3;
      for (const Change& change : problem.changes) after.push_back(change.after.count);
      std::sort(after.begin(), after.end());
    }
    problem.after = Nanoseconds{after[after.size() / 2]};
  }

  const ProblemInput& in_;
  std::vector<SiteInstances> counts_;
  std::vector<std::array<int, 3>> first_problem_;  // by site and kind: position in problems_, or -1
  std::vector<Problem> problems_;
  Problems result_;
};

}  // namespace

const char* kind_name(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::unnecessary_synchronization:
      return "unnecessary-synchronization";
    case ProblemKind::misplaced_synchronization:
      return "misplaced-synchronization";
    case ProblemKind::duplicate_transfer:
      return "duplicate-transfer";
  }
  return "unknown";
}

Problems find_problems(const ProblemInput& input) { return Finder(input).find(); }

}  // namespace diogenes
