#include "analysis/findings/required.h"

#include <algorithm>
#include <utility>

#include "analysis/runs/polls.h"
#include "analysis/runs/recording_cost.h"

namespace diogenes {
namespace {

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

// What the problems' fixes do to an operation. changed: it stays, without its wait or as a shorter call.
enum class Fixed : uint8_t { no, moved, changed, gone };

// By thread of the graph and operation.
std::vector<std::vector<Fixed>> fixed_by(const std::vector<Problem>& problems, size_t threads) {
  std::vector<std::vector<Fixed>> fixed(threads);
  for (const Problem& problem : problems)
    for (const Change& change : problem.changes) {
      std::vector<Fixed>& operations = fixed[change.thread];
      if (operations.size() <= change.operation) operations.resize(change.operation + 1);
      const bool waits =
          change.wait_change == Change::Wait::moved || change.wait_change == Change::Wait::narrowed;
      operations[change.operation] = waits                                      ? Fixed::moved
                                     : change.call_removed && !change.work_kept ? Fixed::gone
                                                                                : Fixed::changed;
    }
  return fixed;
}

// A call, with the CPU time between the call before it and this one.
struct Made {
  uint32_t operation;  // position in the thread
  Nanoseconds before;
};
// A line that gives the GPU more than that right before its wait does so for more than one result.
constexpr size_t kMostForOneWait = 64;

bool gives_work(Role role) {
  return role == Role::launch || role == Role::graph_launch || role == Role::fill;
}

// One that is asked for: a call, or a loop of queries from its first to its last.
struct Wait {
  const std::vector<Operation>& operations;
  uint32_t thread = 0;                  // of the graph
  uint32_t first = 0, last = 0;         // positions in the thread
  const std::vector<uint32_t>& copies;  // to the host, since the thread's needed wait before
  Nanoseconds freed;                    // since then, by the fixes: this wait may take it over
  const std::vector<Made>& since;       // the thread's calls from its wait before, that included, to this one

  bool polls() const { return first != last; }
  const Operation& call() const { return operations[first]; }
  Nanoseconds time() const { return operations[last].end() - call().begin; }
  // That the program can gain without it.
  Nanoseconds most() const {
    Nanoseconds most = time() + freed;
    for (const uint32_t copy : copies) most += operations[copy].call;
    return most;
  }
};

// What is known of one line while its calls are gathered.
struct AskedLine {
  Required required;
  std::map<std::pair<SiteIndex, bool>, uint64_t> calls;  // how many, by site and whether they wait
  std::vector<Change> changes;
  std::vector<Change> whole;  // `changes`, and what the line gives the GPU for its waits
  std::vector<int64_t> after;
  Nanoseconds most;  // that it can gain
};

class RequiredFinder {
 public:
  RequiredFinder(const ProblemInput& input, const std::vector<Problem>& problems, const Lines& places)
      : in_(input),
        problems_(problems),
        places_(places),
        fixed_(fixed_by(problems, input.graph.threads.size())),
        line_of_(input.sites.size(), kNone),
        waits_(input.sites.size()) {}

  RequiredWaits find(Nanoseconds least, size_t most) {
    for (uint32_t t = 0; t < in_.graph.threads.size(); ++t) gather(t);
    std::erase_if(lines_, [&](const AskedLine& line) { return line.most < least; });
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const AskedLine& a, const AskedLine& b) { return a.most > b.most; });
    if (lines_.size() > most) lines_.resize(most);
    if (lines_.empty()) return {};
    std::vector<Models::Parts> alone;
    for (const AskedLine& line : lines_) alone.push_back({&line.changes});
    Models::Parts fixes;
    for (const Problem& problem : problems_)
      if (!problem.apart) fixes.push_back(&problem.changes);
    const Models paper(in_.graph, nullptr, Model::paper);
    const Models& models = in_.models ? *in_.models : paper;
    const Models::Made fixed = models.make(fixes);
    const std::vector<Figure> figures = models.figures_beyond(fixed, alone);
    for (size_t i = 0; i < lines_.size(); ++i) lines_[i].required.up_to = figures[i];
    add_launches(models, fixed);
    std::erase_if(lines_, [&](const AskedLine& line) {
      return line.required.up_to.benefit < least || line.required.up_to.benefit.count <= 0;
    });
    std::stable_sort(lines_.begin(), lines_.end(), [](const AskedLine& a, const AskedLine& b) {
      return a.required.up_to.benefit > b.required.up_to.benefit;
    });
    RequiredWaits result;
    Models::Parts all;
    for (const AskedLine& line : lines_) all.push_back(&line.changes);
    if (lines_.size() == 1) result.together = lines_[0].required.up_to;
    if (lines_.size() > 1) {
      Models::Parts whole;
      for (const AskedLine& line : lines_)
        whole.push_back(line.required.launches > 0 ? &line.whole : &line.changes);
      const std::vector<Figure> together = models.figures_beyond(fixed, {all, whole});
      result.together = together[0];
      result.together.high = std::max(together[0].high, together[1].benefit);
    }
    for (AskedLine& line : lines_) {
      describe(line);
      result.found.push_back(std::move(line.required));
    }
    return result;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void gather(uint32_t t) {
    auto [process, thread] = in_.graph.origin[t];
    const auto& operations = in_.tracing.processes[process].threads[thread].operations;
    const std::vector<Poll> polls = polls_of(operations, in_.sites);
    auto poll = polls.begin();
    std::vector<uint32_t> copies;
    std::vector<Made> since{{kNone, {}}};
    RecordingCost recording(in_.tracing.processes[process], in_.tracing.processes[process].threads[thread]);
    Nanoseconds ended, freed;
    for (uint32_t i = 0; i < operations.size(); ++i) {
      const Operation& operation = operations[i];
      const Fixed fixed = i < fixed_[t].size() ? fixed_[t][i] : Fixed::no;
      const RecordingCost::Around cost = recording.of(i);
      since.push_back({i, std::max(operation.begin - cost.before - ended, Nanoseconds{})});
      ended = operation.end() + cost.behind;
      const bool stays = fixed == Fixed::no || fixed == Fixed::moved;
      const bool polls_here = poll != polls.end() && poll->first == i;
      const bool needed = is_needed_wait(operation);
      waits_[operation.site.value] += polls_here || needed || is_program_wait(operation);
      if (!stays) freed += operation.call;
      if (!polls_here && !needed) {
        const DriverFunction* function = function_of(in_.sites[operation.site]);
        if (function && brings_to_host(*function) && is_candidate(operation) && fixed != Fixed::gone)
          copies.push_back(i);
        continue;
      }
      const uint32_t last = polls_here ? (poll++)->last : i;
      if (polls_here ? !operation.outside : stays && is_asked_for(operation))
        add(line(operation.site), {operations, t, i, last, copies, freed, since});
      copies.clear();
      since.assign({{i, {}}});
      ended = std::max(ended, operations[last].end());
      freed = fixed == Fixed::moved ? operation.waited : Nanoseconds{};
      i = last;
    }
  }

  // One that found all done may have to wait once needless ones before it do not.
  bool is_needed_wait(const Operation& operation) const {
    if (operation.reasons == 0) return false;
    if (is_program_wait(operation)) return true;
    const DriverFunction* function = function_of(in_.sites[operation.site]);
    return function && function->role == Role::synchronize && is_candidate(operation);
  }

  // A call that waits for its own work has no result that could be asked for later.
  static bool is_asked_for(const Operation& operation) {
    return is_candidate(operation) && !operation.outside && (operation.reasons & kOwnWork) == 0;
  }

  AskedLine& line(SiteIndex site) {
    uint32_t& number = line_of_[site.value];
    if (number == kNone) {
      const auto place = places_.place_of ? places_.place_of(site) : std::nullopt;
      const auto next = static_cast<uint32_t>(lines_.size());
      number = place ? by_place_.try_emplace(*place, next).first->second : next;
      if (number == next) lines_.emplace_back();
    }
    return lines_[number];
  }

  // With what the line gives the GPU right before its waits, where it does.
  void add_launches(const Models& models, const Models::Made& fixed) {
    std::vector<AskedLine*> those;
    std::vector<Models::Parts> whole;
    for (AskedLine& line : lines_) {
      if (line.required.launches == 0) continue;
      those.push_back(&line);
      whole.push_back({&line.whole});
    }
    const std::vector<Figure> figures = models.figures_beyond(fixed, whole);
    for (size_t i = 0; i < those.size(); ++i) {
      Figure& up_to = those[i]->required.up_to;
      up_to.high = std::max(up_to.high, figures[i].benefit);
    }
  }

  bool is_made_at_line(SiteIndex call, SiteIndex wait) {
    if (!places_.made_at_line_of) return false;
    const auto [known, added] = at_line_.try_emplace({call, wait});
    if (added) known->second = places_.made_at_line_of(call, wait);
    return known->second;
  }

  // From the wait back: the calls of its line that give the GPU work, and the CPU time between those that go.
  void add_whole(AskedLine& line, const Wait& wait, size_t first_change) {
    const SiteIndex at = wait.call().site;
    std::vector<Change> goes(line.changes.begin() + static_cast<ptrdiff_t>(first_change), line.changes.end());
    const size_t asked_for = goes.size();
    const auto is_asked_for = [&](uint32_t operation) {  // the first of them are in order
      const auto end = goes.begin() + static_cast<ptrdiff_t>(asked_for);
      const auto at_or_behind = std::partition_point(
          goes.begin(), end, [&](const Change& change) { return change.operation < operation; });
      return at_or_behind != end && at_or_behind->operation == operation;
    };
    bool all_of_line = true;
    for (size_t k = wait.since.size() - 1; k-- > 1;) {
      const uint32_t i = wait.since[k].operation;
      const Operation& operation = wait.operations[i];
      const DriverFunction* function = function_of(in_.sites[operation.site]);
      if (is_asked_for(i)) continue;
      all_of_line = wait.since.size() - k <= kMostForOneWait && is_made_at_line(operation.site, at);
      if (!all_of_line) break;
      if (!function || !gives_work(function->role) || operation.outside) continue;
      goes.push_back(removed(wait.thread, i));
      line.most += operation.call;
    }
    line.required.launches += goes.size() - asked_for;
    const bool again = !line.whole.empty() && line.whole.back().thread == wait.thread &&
                       line.whole.back().operation == wait.since[0].operation;
    line.required.in_a_row += again && all_of_line;
    if (goes.size() > asked_for) std::sort(goes.begin(), goes.end(), in_cpu_order);
    for (size_t k = 1; k < goes.size() && goes.size() > asked_for; ++k) {
      if (goes[k - 1].operation + 1 != goes[k].operation) continue;
      goes[k].before = wait.since[goes[k].operation - wait.since[1].operation + 1].before;
      line.most += goes[k].before;
    }
    line.whole.insert(line.whole.end(), goes.begin(), goes.end());
  }

  Change removed(uint32_t thread, uint32_t i) const {
    const auto [process, of_process] = in_.graph.origin[thread];
    const Operation& operation = in_.tracing.processes[process].threads[of_process].operations[i];
    Change change;
    change.thread = thread;
    change.operation = i;
    change.wait = in_.graph.threads[thread].wait_at[i];
    change.waits = is_wait(operation);
    change.launch_first = launches_first(function_of(in_.sites[operation.site]));
    change.own = operation.own();
    change.call_removed = true;
    if (change.waits) change.wait_change = Change::Wait::removed;
    return change;
  }

  void add(AskedLine& line, const Wait& wait) {
    const size_t first_change = line.changes.size();
    for (const uint32_t copy : wait.copies) add_call(line, wait, copy, wait.operations[copy].call, false);
    add_call(line, wait, wait.first, wait.time(), true);
    line.most += wait.most();
    add_whole(line, wait, first_change);
    Required& required = line.required;
    const Operation& operation = wait.call();
    ++required.count;
    ++required.threads[wait.thread];
    if (wait.polls()) {
      required.queries += wait.last - wait.first + 1;
      return;
    }
    required.not_judged += is_not_judged(operation.reasons);
    for (uint32_t bit = 1; bit != 0; bit <<= 1)
      if ((operation.reasons & bit) != 0) ++required.reasons[bit];
    if (operation.after.count >= 0) line.after.push_back(operation.after.count);
  }

  void add_call(AskedLine& line, const Wait& wait, uint32_t i, Nanoseconds time, bool waits) {
    const Operation& operation = wait.operations[i];
    const DriverFunction* function = function_of(in_.sites[operation.site]);
    const bool polls = waits && wait.polls();
    line.required.waited += polls ? time : operation.waited;
    line.required.call += time;
    if (function && brings_to_host(*function)) line.required.brought.count += operation.bytes.count;
    ++line.calls[{operation.site, waits}];
    Change& change = line.changes.emplace_back(removed(wait.thread, i));
    if (polls) change.own = time;
    change.call_removed =
        polls || (function && (function->role == Role::synchronize || brings_to_host(*function)));
  }

  void describe(AskedLine& line) const {
    Required& required = line.required;
    for (const auto& [call, count] : line.calls) required.calls.push_back({call.first, count, call.second});
    std::sort(required.calls.begin(), required.calls.end(),
              [&](const RequiredCall& a, const RequiredCall& b) {
                if (a.waits != b.waits) return a.waits;
                return a.count != b.count ? a.count > b.count : in_.sites[a.site].key < in_.sites[b.site].key;
              });
    required.site = required.calls.front().site;
    for (const RequiredCall& call : required.calls) {
      if (!call.waits) continue;
      required.instances += waits_[call.site.value];
      if (call.site.value >= in_.verdicts.size()) continue;
      for (const auto& use : in_.verdicts[call.site.value].uses) {
        const auto known = std::find_if(required.uses.begin(), required.uses.end(),
                                        [&](const auto& other) { return other.first == use.first; });
        if (known == required.uses.end())
          required.uses.push_back(use);
        else
          known->second += use.second;
      }
    }
    std::stable_sort(required.uses.begin(), required.uses.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (line.after.empty()) return;
    const auto middle = line.after.begin() + static_cast<ptrdiff_t>(line.after.size() / 2);
    std::nth_element(line.after.begin(), middle, line.after.end());
    required.after = Nanoseconds{*middle};
  }

  const ProblemInput& in_;
  const std::vector<Problem>& problems_;
  const Lines& places_;
  const std::vector<std::vector<Fixed>> fixed_;
  std::vector<uint32_t> line_of_;  // by site
  std::vector<uint64_t> waits_;    // by site
  std::map<ActingPlace, uint32_t> by_place_;
  std::map<std::pair<SiteIndex, SiteIndex>, bool> at_line_;  // of a call and a wait
  std::vector<AskedLine> lines_;
};

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

RequiredWaits find_required(const ProblemInput& input, const std::vector<Problem>& problems,
                            const Lines& lines, Nanoseconds least, size_t most) {
  return RequiredFinder(input, problems, lines).find(least, most);
}

}  // namespace diogenes
