#include "analysis/findings/asked_lines.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analysis/findings/whole_calls.h"
#include "analysis/runs/polls.h"
#include "analysis/runs/recording_cost.h"

namespace diogenes {
namespace {

bool brings_to_host(const DriverFunction& function) {
  return function.role == Role::transfer && function.direction == Direction::device_to_host;
}

bool sends_data(const DriverFunction& function) {
  return function.role == Role::transfer && function.direction == Direction::host_to_device;
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

constexpr Bytes kManyBytes{4096};  // data: what the CPU computes from it, or makes it from, the GPU could
constexpr uint64_t kOften = 10;    // sends of a line: less often is no loop
constexpr int64_t kMostNotExplained = 3;

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

class Gatherer {
 public:
  Gatherer(const ProblemInput& input, const std::vector<Problem>& problems, const Lines& places)
      : in_(input),
        places_(places),
        fixed_(fixed_by(problems, input.graph.threads.size())),
        line_of_(input.sites.size(), kNone),
        sending_line_of_(input.sites.size(), kNone),
        is_python_(input.sites.size()),
        whole_(input, places) {
    found_.waits.resize(input.sites.size());
    set_not_explained();
  }

  AskedLines gather() {
    for (uint32_t t = 0; t < in_.graph.threads.size(); ++t) gather(t);
    for (AskedLine& line : found_.lines) whole_.take(line);
    std::erase_if(found_.lines,
                  [](const AskedLine& line) { return line.required.sends && line.required.count < kOften; });
    return std::move(found_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Of `longer`, what recording does not explain, in equal parts for all calls: three times what recording takes at most, as the
  // two runs may have had processors of different speed.
  void set_not_explained() {
    if (places_.longer.count <= 0 || in_.tracing.processes.size() != 1) return;
    const Process& process = in_.tracing.processes[0];
    Nanoseconds recorded;
    int64_t calls = 0;
    for (const Thread& thread : process.threads) {
      RecordingCost recording(process, thread);
      for (uint32_t i = 0; i < thread.operations.size(); ++i, ++calls) {
        const RecordingCost::Around cost = recording.of(i);
        recorded += cost.before + cost.inside + cost.behind;
      }
    }
    if (calls == 0) return;
    const int64_t most = kMostNotExplained * recorded.count;
    not_explained_ = {std::clamp<int64_t>(places_.longer.count - recorded.count, 0, most) / calls};
  }

  void gather(uint32_t t) {
    auto [process, thread] = in_.graph.origin[t];
    const auto& operations = in_.tracing.processes[process].threads[thread].operations;
    const std::vector<Poll> polls = polls_of(operations, in_.sites);
    auto poll = polls.begin();
    std::vector<uint32_t> copies;
    std::vector<Made> since{{kNone, {}}};
    RecordingCost recording(in_.tracing.processes[process], in_.tracing.processes[process].threads[thread]);
    Nanoseconds ended, freed;
    uint32_t asked = kNone;    // the line of the wait right before, if it was one
    uint32_t changed = kNone;  // the line of the last that fixes make wait, while no work was given behind it
    std::vector<Nanoseconds> before(operations.size());
    for (uint32_t i = 0; i < operations.size(); ++i) {
      const Operation& operation = operations[i];
      const Fixed fixed = i < fixed_[t].size() ? fixed_[t][i] : Fixed::no;
      const RecordingCost::Around cost = recording.of(i);
      Nanoseconds work = operation.begin - cost.before - ended;
      if (not_explained_.count > 0 && is_python(operation.site)) work = work - not_explained_;
      since.push_back({i, std::max(work, Nanoseconds{})});
      before[i] = since.back().before;
      ended = operation.end() + cost.behind;
      if (asked != kNone)
        add_work(found_.lines[asked], operations[since.front().operation], since.back().before);
      asked = kNone;
      const bool stays = fixed == Fixed::no || fixed == Fixed::moved;
      const bool polls_here = poll != polls.end() && poll->first == i;
      const bool for_changed = fixed == Fixed::no && !is_needed_wait(operation) &&
                               is_synchronization(operation) && is_candidate(operation) &&
                               has_changed(copies, fixed_[t]);
      const bool needed = for_changed || is_needed_wait(operation);
      found_.waits[operation.site.value] += polls_here || needed || is_program_wait(operation);
      if (!stays) freed += operation.call;
      if (!polls_here && fixed != Fixed::gone && is_sent_data(operation))
        add_sent(found_.lines[line(operation.site, true)], t, i, cpu_time_before(operations, since));
      if (!polls_here && !needed) {
        const DriverFunction* function = function_of(in_.sites[operation.site]);
        if (function && (gives_work(function->role) || function->role == Role::transfer)) changed = kNone;
        if (function && brings_to_host(*function) && is_candidate(operation) && fixed != Fixed::gone)
          copies.push_back(i);
        continue;
      }
      const uint32_t last = polls_here ? (poll++)->last : i;
      if (polls_here ? !operation.outside : stays && is_asked_for(operation)) {
        const Wait wait{operations, t, i, last, copies, freed, since};
        const bool for_same = changed != kNone && !polls_here && copies.empty();
        const uint32_t at = for_same ? changed : line(operation.site, false);
        if (for_same)
          add_for_same(found_.lines[at], wait);
        else
          add(found_.lines[at], wait);
        found_.lines[at].required.for_changed += for_changed;
        changed = for_changed || for_same ? at : kNone;
        if (!polls_here && !for_same) {
          asked = at;
          found_.lines[at].waits.push_back(i);
        }
      }
      copies.clear();
      since.assign({{i, {}}});
      ended = std::max(ended, operations[last].end());
      freed = fixed == Fixed::moved ? operation.waited : Nanoseconds{};
      i = last;
    }
    for (AskedLine& line : found_.lines) {
      const std::vector<uint32_t> waits = std::exchange(line.waits, {});
      if (waits.empty() || !is_python(operations[waits.front()].site)) continue;
      whole_.add_turns(line, t, waits, before);
      const std::vector<uint32_t> in_part = waits_in_part(line.required, operations, waits);
      if (!in_part.empty()) whole_.add_parts(line, t, in_part, before);
    }
  }

  // A line may have waits in several parts of calls: the first part is the line's.
  std::vector<uint32_t> waits_in_part(Required& required, const std::vector<Operation>& operations,
                                      const std::vector<uint32_t>& waits) {
    std::vector<uint32_t> in_part;
    for (const uint32_t wait : waits) {
      const SiteIndex site = operations[wait].site;
      const auto [known, added] = advice_.try_emplace(site.value);
      if (added && places_.another_form) known->second = places_.another_form(site);
      const PythonAdvice& advice = known->second;
      if (advice.part == PartOfCall::none) continue;
      if (required.part == PartOfCall::none) {
        required.part = advice.part;
        required.part_name = advice.part_name;
      }
      if (required.part == advice.part && required.part_name == advice.part_name) in_part.push_back(wait);
    }
    return in_part;
  }

  // One that found all done may have to wait once needless ones before it do not.
  bool is_needed_wait(const Operation& operation) const {
    if (operation.reasons == 0) return false;
    return is_program_wait(operation) || (is_synchronization(operation) && is_candidate(operation));
  }

  bool is_synchronization(const Operation& operation) const {
    const DriverFunction* function = function_of(in_.sites[operation.site]);
    return function && function->role == Role::synchronize;
  }

  // A copy whose own wait a fix takes: the first synchronization behind it, which finds all done today, has to wait then.
  static bool has_changed(const std::vector<uint32_t>& copies, const std::vector<Fixed>& fixed) {
    return std::any_of(copies.begin(), copies.end(),
                       [&](uint32_t copy) { return copy < fixed.size() && fixed[copy] == Fixed::changed; });
  }

  // A call that waits for its own work has no result that could be asked for later.
  static bool is_asked_for(const Operation& operation) {
    return is_candidate(operation) && !operation.outside && (operation.reasons & kOwnWork) == 0;
  }

  bool is_sent_data(const Operation& operation) const {
    const DriverFunction* function = function_of(in_.sites[operation.site]);
    return function && sends_data(*function) && operation.bytes >= kManyBytes && is_candidate(operation) &&
           !operation.outside;
  }

  uint32_t line(SiteIndex site, bool sends) {
    uint32_t& number = (sends ? sending_line_of_ : line_of_)[site.value];
    if (number == kNone) {
      const auto place = places_.place_of ? places_.place_of(site) : std::nullopt;
      const auto next = static_cast<uint32_t>(found_.lines.size());
      number = place ? by_place_[sends].try_emplace(*place, next).first->second : next;
      if (number == next) {
        found_.lines.emplace_back().required.sends = sends;
        found_.lines.back().required.is_python = is_python(site);
        if (places_.another_form && !sends)
          found_.lines.back().required.another_form = places_.another_form(site).form();
      }
    }
    return number;
  }

  bool is_python(SiteIndex site) {
    std::optional<bool>& known = is_python_[site.value];
    if (!known) known = places_.is_python && places_.is_python(site);
    return *known;
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
      goes.push_back(whole_.removed(wait.thread, i));
      line.most += operation.call;
    }
    line.required.launches += goes.size() - asked_for;
    const bool again = !line.whole.empty() && line.whole.back().thread == wait.thread &&
                       line.whole.back().operation == wait.since[0].operation;
    const bool in_a_row = again && all_of_line;
    line.required.in_a_row += in_a_row;
    line.last_brought = brought(goes, wait, in_.sites);
    const bool together = in_a_row && line.last_brought.count > 0 && line.last_brought.count <= kResultBytes;
    if (goes.size() > asked_for) std::sort(goes.begin(), goes.end(), in_cpu_order);
    const bool python = is_python(at);
    if (together || python || goes.size() > asked_for)
      take_time_between(line, wait, {.together = together, .python = python}, goes);
    line.whole.insert(line.whole.end(), goes.begin(), goes.end());
  }

  struct Takes {
    bool together, python;
  };
  // The CPU time before each call that goes right behind another. Before the first of them: behind the line's wait before, if
  // their results come together; in Python, where that time is mostly spent on the way to the call.
  static void take_time_between(AskedLine& line, const Wait& wait, Takes takes, std::vector<Change>& goes) {
    Nanoseconds calls;
    for (const Change& change : goes) calls += wait.operations[change.operation].call;
    for (size_t k = 0; k < goes.size(); ++k) {
      const size_t at = goes[k].operation - wait.since[1].operation + 1;
      const bool follows = k > 0 && goes[k - 1].operation + 1 == goes[k].operation;
      const bool first = k == 0 && (takes.python || (takes.together && at == 1));
      if (!follows && !first) continue;
      goes[k].before = wait.since[at].before;
      // Longer: the CPU does more than to ask.
      if (first) goes[k].before = std::min(goes[k].before, calls);
      if (first || takes.together) line.required.between += goes[k].before;
      line.most += goes[k].before;
    }
  }

  static Bytes brought(const std::vector<Change>& calls, const Wait& wait, const SiteTable& sites) {
    Bytes bytes;
    for (const Change& call : calls) {
      const Operation& operation = wait.operations[call.operation];
      const DriverFunction* function = function_of(sites[operation.site]);
      if (function && brings_to_host(*function)) bytes.count += operation.bytes.count;
    }
    return bytes;
  }

  // Since the thread's last call that waited or gave work; those between, which ask for attributes, are no work.
  Nanoseconds cpu_time_before(const std::vector<Operation>& operations,
                              const std::vector<Made>& since) const {
    Nanoseconds time = since.back().before;
    for (size_t k = since.size() - 1; k-- > 1;) {
      const Operation& earlier = operations[since[k].operation];
      const DriverFunction* function = function_of(in_.sites[earlier.site]);
      if (is_wait(earlier) || !function || gives_work(function->role) || function->role == Role::transfer)
        break;
      time += since[k].before;
    }
    return time;
  }

  // Before the first of them the program may do anything; in a loop it likely makes what it sends.
  void add_sent(AskedLine& line, uint32_t thread, uint32_t i, Nanoseconds before) {
    Required& required = line.required;
    Change& change = line.changes.emplace_back(whole_.removed(thread, i));
    if (required.count > 0) change.before = before;
    const auto [process, of_process] = in_.graph.origin[thread];
    const Operation& operation = in_.tracing.processes[process].threads[of_process].operations[i];
    ++required.count;
    ++required.threads[thread];
    ++line.calls[{operation.site, false}];
    required.bytes.count += operation.bytes.count;
    required.waited += operation.waited;
    required.call += operation.call;
    required.made += change.before;
    line.most += operation.call + change.before;
  }

  // The CPU time behind a wait, to the thread's next call, is work on the data that it brought if it uses it by then.
  void add_work(AskedLine& line, const Operation& wait, Nanoseconds time) {
    if (line.last_brought < kManyBytes || wait.after.count < 0 || wait.after > time) return;
    line.whole.back().behind = time;
    line.required.work += time;
    line.most += time;
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
    add_reasons(line, operation);
  }

  // Another wait for what the line has brought, made right behind its own: it is not counted, and goes with that.
  void add_for_same(AskedLine& line, const Wait& wait) {
    add_call(line, wait, wait.first, wait.time(), true);
    line.whole.push_back(line.changes.back());
    line.most += wait.most();
    add_reasons(line, wait.call());
  }

  static void add_reasons(AskedLine& line, const Operation& operation) {
    line.required.not_judged += is_not_judged(operation.reasons);
    for (uint32_t bit = 1; bit != 0; bit <<= 1)
      if ((operation.reasons & bit) != 0) ++line.required.reasons[bit];
    if (operation.after.count >= 0) line.after.push_back(operation.after.count);
  }

  void add_call(AskedLine& line, const Wait& wait, uint32_t i, Nanoseconds time, bool waits) {
    const Operation& operation = wait.operations[i];
    const DriverFunction* function = function_of(in_.sites[operation.site]);
    const bool polls = waits && wait.polls();
    line.required.waited += polls ? time : operation.waited;
    line.required.call += time;
    if (function && brings_to_host(*function)) {
      line.required.bytes.count += operation.bytes.count;
      line.required.unused.count += operation.unused_bytes().count;
      const auto [process, of_process] = in_.graph.origin[wait.thread];
      if (operation.unused_percent > 0) line.in_part.push_back({process, of_process, i});
    }
    ++line.calls[{operation.site, waits}];
    Change& change = line.changes.emplace_back(whole_.removed(wait.thread, i));
    if (polls) change.own = time;
    change.call_removed =
        polls || (function && (function->role == Role::synchronize || brings_to_host(*function)));
  }

  const ProblemInput& in_;
  const Lines& places_;
  Nanoseconds not_explained_;  // of each call
  const std::vector<std::vector<Fixed>> fixed_;
  std::vector<uint32_t> line_of_, sending_line_of_;          // by site
  std::vector<std::optional<bool>> is_python_;               // by site
  std::map<ActingPlace, uint32_t> by_place_[2];              // of lines that ask, and that send
  std::map<std::pair<SiteIndex, SiteIndex>, bool> at_line_;  // of a call and a wait
  std::unordered_map<uint32_t, PythonAdvice> advice_;        // by site
  WholeCalls whole_;
  AskedLines found_;
};

}  // namespace

AskedLines asked_lines(const ProblemInput& input, const std::vector<Problem>& problems, const Lines& places) {
  return Gatherer(input, problems, places).gather();
}

}  // namespace diogenes
