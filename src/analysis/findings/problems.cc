#include "analysis/findings/problems.h"

#include <algorithm>
#include <array>
#include <map>

#include "analysis/findings/site_instances.h"

namespace diogenes {
namespace {

constexpr size_t kMostIdleSites = 16;   // each is one more replay of the whole run
constexpr Nanoseconds kNothing{1'000};  // in a whole run
constexpr int64_t kWorthMoving =
    10;  // a wait moves by a tenth of its length, or waiting for less is looked at

class Finder {
 public:
  explicit Finder(const ProblemInput& input)
      : in_(input),
        counts_(input.sites.size()),
        placed_uses_(input.sites.size()),
        replacing_call_(asynchronous_call(input.tracing, input.sites)) {}

  Problems find() {
    count();
    for (uint32_t site = 0; site < counts_.size(); ++site) open(SiteIndex{site});
    collect();
    collect_reuses();
    add_figures();
    drop_idle_of_no_weight();
    drop_transfers_of_no_weight();
    drop_misplaced_of_no_weight();
    drop_minor();
    drop_what_gains_nothing();
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
  void add_figures() {
    const Models paper(in_.graph, nullptr, Model::paper);
    std::vector<Models::Parts> alone;
    for (const Problem& problem : problems_) alone.push_back({&problem.changes});
    std::vector<Figure> figures = (in_.models ? *in_.models : paper).figures(alone);
    for (size_t i = 0; i < problems_.size(); ++i) {
      problems_[i].figure = std::move(figures[i]);
      problems_[i].benefit = problems_[i].figure.benefit;
    }
  }

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
      site.add(driver, operation);
      if (auto kind = own_kind(driver, operation); kind && !operation.outside)
        site.weight[number(*kind)] +=
            gain_of(*kind, operation) + (is_wait(operation) ? operation.waited : Nanoseconds{});
    });
  }

  // Which problems a site may have; whether they matter is decided when their benefit is known.
  void open(SiteIndex index) {
    const SiteInstances& site = counts_[index.value];
    const SiteVerdicts& verdicts = in_.verdicts[index.value];
    first_problem_.emplace_back().fill(-1);
    if (!function(index)) return;
    auto add = [&](ProblemKind kind, uint64_t instances, uint64_t left_out) {
      first_problem_.back()[static_cast<size_t>(kind)] = static_cast<int>(problems_.size());
      Problem& problem = problems_.emplace_back();
      problem.kind = kind;
      problem.site = index;
      const uint64_t outside = site.outside[number(kind)];
      problem.instances = instances - std::min(instances, outside);
      problem.left_out = std::min(left_out, problem.instances);
    };
    for (size_t i = 0; i < kProblemKinds; ++i) {
      auto kind = static_cast<ProblemKind>(i);
      if (site.of_kind[i] > 0 && !is_less_kind(kind) && is_worth_opening(kind, site))
        add(kind, is_transfer_kind(kind) ? site.transfers : site.calls, left_out_of(kind, site));
    }
    // Who removes the call removes those as well that happened not to wait, and are needed.
    uint64_t instances =
        site.waits + site.idle_unnecessary + verdicts.unmatched_needed + verdicts.idle_needed;
    uint64_t unnecessary = site.unnecessary + site.idle_unnecessary;
    if (unnecessary > 0) {
      uint64_t looked_at = instances - site.left_out;
      bool always = unnecessary == looked_at;
      if (always || (unnecessary >= 2 && 2 * unnecessary >= looked_at))
        add(ProblemKind::unnecessary_synchronization, instances, site.left_out);
      else if (unnecessary >= 2)
        ++result_.rarely_unnecessary_sites;
    }
    uint64_t needed = site.waits - site.unnecessary - site.left_out;
    bool all_movable = site.movable > 0 && site.movable + site.unresolved >= needed &&
                       site.unresolved <= verdicts.threads && verdicts.unmatched_needed == 0 &&
                       verdicts.idle_movable == verdicts.idle_needed;
    // One call is changed: where one of its needed instances has to stay as wide as it is, all have.
    const auto is_all = [&](ProblemKind kind) {
      const uint64_t count = site.of_kind[number(kind)];
      return count >= 2 && count == needed && verdicts.unmatched_needed == 0 && verdicts.idle_needed == 0;
    };
    const bool rarely_movable =
        !all_movable || 2 * site.moved < needed || kWorthMoving * site.moves.count < site.waited.count;
    if (is_all(ProblemKind::ordering_synchronization))
      add(ProblemKind::ordering_synchronization, site.waits, site.left_out);
    else if (rarely_movable && is_all(ProblemKind::wide_synchronization))
      add(ProblemKind::wide_synchronization, site.waits, site.left_out);
    else if (all_movable)
      add(ProblemKind::misplaced_synchronization, site.waits, site.left_out);
  }

  // That memory is pageable is known without a look.
  static uint64_t left_out_of(ProblemKind kind, const SiteInstances& site) {
    const bool looks = is_transfer_kind(kind) && kind != ProblemKind::pageable_transfer;
    return looks ? site.transfers_left_out : 0;
  }

  // Where it cannot matter, the instance's needless wait is left to the problem of the waits.
  bool is_worth_opening(ProblemKind kind, const SiteInstances& site) {
    bool enough = site.weight[number(kind)] >= in_.threshold;
    bool goes = kind == ProblemKind::duplicate_transfer || kind == ProblemKind::unused_transfer;
    const uint64_t count = site.of_kind[number(kind)];
    if (enough || (goes && 2 * count >= site.transfers - site.transfers_left_out)) return true;
    result_.minor_allocation_sites += is_allocation_kind(kind);
    result_.minor_transfer_sites += is_transfer_kind(kind);
    if (is_transfer_kind(kind)) result_.minor_transfers += count;
    return false;
  }

  // Of the call's own time.
  Nanoseconds gain_of(ProblemKind kind, const Operation& operation) const {
    Nanoseconds remains = replacement_of(kind, operation).any ? replacing_call_ : Nanoseconds{};
    return std::max(operation.own() - remains, Nanoseconds{});
  }

  Problem* problem_of(SiteIndex site, ProblemKind kind) {
    int found = first_problem_[site.value][static_cast<size_t>(kind)];
    return found < 0 ? nullptr : &problems_[static_cast<size_t>(found)];
  }

  // Every problematic instance goes to one problem of its site.
  void collect() {
    each_operation([&](uint32_t thread, uint32_t position, const Operation& operation) {
      if (operation.outside) return;
      Problem* problem = nullptr;
      if (auto kind = own_kind(function(operation.site), operation))
        problem = problem_of(operation.site, *kind);
      bool needless = is_unnecessary(operation) || is_idle_unnecessary(function(operation.site), operation);
      if (!problem && needless)
        problem = problem_of(operation.site, ProblemKind::unnecessary_synchronization);
      if (!problem && is_moved(operation))
        problem = problem_of(operation.site, ProblemKind::misplaced_synchronization);
      if (auto kind = less_kind(operation); kind && !problem) problem = problem_of(operation.site, *kind);
      if (problem) add_instance(*problem, thread, position, operation);
    });
    // The instances that a duplicate's problem took may leave one that is empty, or too rare to be said of
    // the site.
    std::erase_if(problems_, [&](const Problem& problem) {
      if (problem.count == 0) return true;
      bool shares = problem.kind == ProblemKind::unnecessary_synchronization &&
                    counts_[problem.site.value].transfers > 0 &&
                    problem.count < counts_[problem.site.value].unnecessary;
      return shares && (problem.count < 2 || 2 * problem.count < problem.looked_at());
    });
    for (auto& kinds : first_problem_) kinds.fill(-1);
    for (size_t i = 0; i < problems_.size(); ++i)
      first_problem_[problems_[i].site.value][number(problems_[i].kind)] = static_cast<int>(i);
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
      default: {
        Replacement replacement = replacement_of(problem.kind, operation);
        change.call_removed = true;
        change.work_kept = replacement.work_kept;
        change.own = gain_of(problem.kind, operation);
        change.remains = replacement.any ? std::min(replacing_call_, operation.own()) : Nanoseconds{};
        if (is_unnecessary(operation)) {
          change.wait_change = Change::Wait::removed;
          ++problem.unnecessary_waits;
        }
        problem.waits_not_judged += change.waits && is_not_judged(operation.reasons);
        problem.held += operation.duplicate == Duplicate::returned_held;
        problem.words += operation.constant == Constant::words;
        problem.zeros += operation.constant == Constant::zero;
        problem.released_first += operation.unused == Unused::released;
        break;
      }
      case ProblemKind::unnecessary_synchronization:
        if (change.waits) change.wait_change = Change::Wait::removed;
        change.call_removed = fix_removes_call(*driver, operation);
        if (change.call_removed &&
            (operation.conditions & kConditionNewMemory) != 0) {  // another call takes its place
          change.remains = std::min(replacing_call_, operation.own());
          change.own = operation.own() - change.remains;
        }
        break;
      case ProblemKind::wide_synchronization: {
        const auto [process, of_process] = in_.graph.origin[thread];
        change.wait_change = Change::Wait::narrowed;
        change.like = like_of(in_.tracing.processes[process].threads[of_process].operations, position,
                              in_.verdicts[problem.site.value]);
        break;
      }
      case ProblemKind::ordering_synchronization:
        change.wait_change = Change::Wait::on_gpu;
        break;
      case ProblemKind::misplaced_synchronization:
        change.wait_change = Change::Wait::moved;
        change.after = operation.after;
        placed_uses_[problem.site.value] += operation.after_placed;
        break;
    }
    problem.call_removed |= change.call_removed;
    problem.releases |= driver && driver->role == Role::release;
    problem.changes.push_back(change);
    for (int bit = 0; bit < 8; ++bit) problem.conditional[bit] += operation.conditions >> bit & 1;
    ++problem.count;
    ++problem.threads[thread];
    problem.waited += operation.waited;
    problem.call += operation.call;
    problem.bytes += operation.bytes;
  }

  // Released and allocated again: with the release's needless wait, or by itself.
  void collect_reuses() {
    std::vector<int> own(in_.sites.size(), -1);
    std::vector<bool> extended(problems_.size());
    for (uint32_t t = 0; t < in_.graph.threads.size(); ++t) graph_thread_[in_.graph.origin[t]] = t;
    for (uint32_t p = 0; p < in_.tracing.processes.size(); ++p)
      for (const Reuse& reuse : in_.tracing.processes[p].reuses) {
        const Operation& released = operation_at(p, reuse.released);
        const Operation& allocated = operation_at(p, reuse.allocated);
        const DriverFunction* driver = function(allocated.site);
        // In a stream's order both only take from a pool.
        if (!driver || driver->stream_argument >= 0 || !is_candidate(released) || !is_candidate(allocated) ||
            allocated.unused != Unused::no || allocated.outside)
          continue;
        Problem* problem = is_unnecessary(released)
                               ? problem_of(released.site, ProblemKind::unnecessary_synchronization)
                               : nullptr;
        if (problem) {
          add_companion(*problem, p, reuse.allocated, allocated);
        } else {
          int& known = own[allocated.site.value];
          if (known < 0) {
            known = static_cast<int>(problems_.size());
            Problem& fresh = problems_.emplace_back();
            fresh.kind = ProblemKind::repeated_allocation;
            fresh.site = allocated.site;
            fresh.instances = counts_[allocated.site.value].calls;
          }
          problem = &problems_[static_cast<size_t>(known)];
          add_instance(*problem, thread_of(p, reuse.allocated), reuse.allocated.operation, allocated);
          add_companion(*problem, p, reuse.released, released);
        }
        extended.resize(problems_.size());
        extended[static_cast<size_t>(problem - problems_.data())] = true;
      }
    for (size_t i = 0; i < extended.size(); ++i) {
      if (!extended[i]) continue;
      std::sort(problems_[i].changes.begin(), problems_[i].changes.end(), in_cpu_order);
      auto& places = problems_[i].allocation_places;
      std::stable_sort(places.begin(), places.end(), [](auto& a, auto& b) { return a.second > b.second; });
    }
  }

  uint32_t thread_of(uint32_t process, const Reuse::At& at) const {
    return graph_thread_.at({process, at.thread});
  }
  const Operation& operation_at(uint32_t process, const Reuse::At& at) const {
    return in_.tracing.processes[process].threads[at.thread].operations[at.operation];
  }

  // A call that the same fix ends, and that has no wait to change.
  void add_companion(Problem& problem, uint32_t process, const Reuse::At& at, const Operation& operation) {
    Change change{.thread = thread_of(process, at), .operation = at.operation, .call_removed = true};
    change.wait = in_.graph.threads[change.thread].wait_at[at.operation];
    change.waits = is_wait(operation);
    change.own = operation.own();
    problem.changes.push_back(change);
    problem.waits_not_judged += change.waits && is_not_judged(operation.reasons);
    ++problem.allocations;
    problem.allocation_time += operation.own();
    StackPlace place = in_.sites[operation.site].place;
    for (auto& [known, count] : problem.allocation_places)
      if (known == place) return void(++count);
    problem.allocation_places.emplace_back(place, 1);
  }

  // Synchronizations that never waited are a problem where they would wait once the others are fixed: where
  // fixing all but one of them gains less, by more than its calls took.
  void drop_idle_of_no_weight() {
    auto is_idle = [&](const Problem& problem) {
      return problem.kind == ProblemKind::unnecessary_synchronization &&
             counts_[problem.site.value].waits == 0;
    };
    std::vector<const Problem*> idle;
    for (const Problem& problem : problems_)
      if (is_idle(problem)) idle.push_back(&problem);
    const bool tried = in_.models && !idle.empty() && idle.size() <= kMostIdleSites;
    const Nanoseconds all = tried ? gained_without({}) : Nanoseconds{};
    std::erase_if(idle, [&](const Problem* problem) {
      return tried &&
             all - gained_without({problem}) > std::max(in_.threshold, problem->call + problem->call);
    });
    drop(idle);
  }

  Nanoseconds gained_without(const std::vector<const Problem*>& left_out) const {
    std::vector<const std::vector<Change>*> parts;
    for (const Problem& problem : problems_)
      if (std::find(left_out.begin(), left_out.end(), &problem) == left_out.end())
        parts.push_back(&problem.changes);
    return in_.models->figure(parts).benefit;
  }

  void drop(const std::vector<const Problem*>& dropped) {
    std::vector<Problem> kept;
    for (Problem& problem : problems_)
      if (std::find(dropped.begin(), dropped.end(), &problem) == dropped.end())
        kept.push_back(std::move(problem));
    problems_ = std::move(kept);
  }

  // Neither alone nor together with the others.
  void drop_what_gains_nothing() {
    if (in_.threshold.count == 0) return;  // all is asked for
    std::vector<const Problem*> nothing;
    for (const Problem& problem : problems_)
      if (in_.models && problem.benefit < kNothing) nothing.push_back(&problem);
    if (nothing.empty()) return;
    Nanoseconds gained = gained_without({});
    std::vector<const Problem*> dropped = nothing;
    if (gained - gained_without(dropped) >= kNothing) {  // not all of them: one by one
      dropped.clear();
      if (nothing.size() > kMostIdleSites) nothing.resize(kMostIdleSites);
      for (const Problem* problem : nothing) {
        dropped.push_back(problem);
        const Nanoseconds without = gained_without(dropped);
        if (gained - without >= kNothing)
          dropped.pop_back();
        else
          gained = without;
      }
    }
    for (const Problem* problem : dropped) result_.gains_nothing += problem->count;
    drop(dropped);
  }

  void drop_transfers_of_no_weight() {
    std::erase_if(problems_, [&](const Problem& problem) {
      if (!is_transfer_kind(problem.kind) && !is_allocation_kind(problem.kind)) return false;
      bool goes =
          problem.kind == ProblemKind::duplicate_transfer || problem.kind == ProblemKind::unused_transfer;
      bool kept = (goes && 2 * problem.count >= problem.looked_at()) || problem.benefit >= in_.threshold;
      // Pinning the memory takes as long as one copy gains by it.
      const bool pins_for_one =
          problem.kind == ProblemKind::pageable_transfer && problem.count == 1 && in_.threshold.count > 0;
      if (kept && !pins_for_one && (goes || problem.benefit.count > 0)) return false;
      if (is_allocation_kind(problem.kind)) {
        ++result_.minor_allocation_sites;
      } else {
        ++result_.minor_transfer_sites;
        result_.minor_transfers += problem.count;
      }
      return true;
    });
  }

  // A move gains little where the first use comes soon, and then less than the model is sure of: a small gain
  // counts where the whole range is one.
  void drop_misplaced_of_no_weight() {
    constexpr int kSurelyWorthIt = 5;  // thresholds
    std::erase_if(problems_, [&](const Problem& problem) {
      if (is_less_kind(problem.kind))
        return in_.threshold.count > 0 && (problem.benefit < in_.threshold || problem.figure.low.count <= 0);
      if (problem.kind != ProblemKind::misplaced_synchronization) return false;
      if (problem.benefit < in_.threshold || problem.benefit.count <= 0) return true;
      bool unsure =
          problem.benefit.count < kSurelyWorthIt * in_.threshold.count && problem.figure.low.count <= 0;
      result_.unsure_moves += unsure;
      return unsure;
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
    if (is_transfer_kind(problem.kind)) problem.duplicates = verdicts.duplicates;
    if (problem.kind == ProblemKind::unused_transfer || problem.kind == ProblemKind::unused_allocation)
      problem.lost = verdicts.lost;
    if (in_.call_contexts && problem.site.value < in_.call_contexts->size())
      problem.around = (*in_.call_contexts)[problem.site.value];
    if (problem.kind == ProblemKind::unnecessary_synchronization) {
      uint64_t others = problem.looked_at() - site.unnecessary;
      for (const auto& use : verdicts.uses) problem.used += use.second;
      problem.used = std::min(problem.used, others);
      problem.unwatched = others - problem.used;
    }
    if (problem.kind != ProblemKind::misplaced_synchronization) return;
    const bool stage_4 = !in_.first_uses.empty() && !in_.first_uses[problem.site.value].after_ns.empty();
    if (stage_4) problem.uses = in_.first_uses[problem.site.value].uses;
    if (!stage_4 && 2 * placed_uses_[problem.site.value] < problem.count) ++result_.first_uses_from_stage_3;
    std::vector<int64_t> after;
    for (const Change& change : problem.changes) after.push_back(change.after.count);
    const auto middle = after.begin() + static_cast<ptrdiff_t>(after.size() / 2);
    std::nth_element(after.begin(), middle, after.end());
    problem.after = Nanoseconds{*middle};
  }

  const ProblemInput& in_;
  std::vector<SiteInstances> counts_;
  std::vector<uint64_t> placed_uses_;  // by site: misplaced instances whose `after` is stage 2's time
  Nanoseconds replacing_call_;
  std::vector<std::array<int, kProblemKinds>>
      first_problem_;  // by site and kind: position in problems_, or -1
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> graph_thread_;  // by process and thread
  std::vector<Problem> problems_;
  Problems result_;
};

}  // namespace

Problems find_problems(const ProblemInput& input) { return Finder(input).find(); }

}  // namespace diogenes
