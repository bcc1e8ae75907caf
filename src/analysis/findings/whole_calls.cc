#include "analysis/findings/whole_calls.h"

#include <algorithm>
#include <utility>

namespace diogenes {
namespace {

constexpr uint64_t kPartOfSame = 50;  // one of so many may have brought something else

}  // namespace

bool Answers::asked(SiteIndex call, SiteIndex wait, const InFunctionOf& ask, size_t sites) {
  if (!ask) return false;
  std::vector<Known>& known = known_[wait.value];
  if (known.empty()) known.resize(sites);
  Known& one = known[call.value];
  if (one == Known::not_asked) one = ask(call, wait) ? Known::yes : Known::no;
  return one == Known::yes;
}

const std::vector<Operation>& WholeCalls::operations_of(uint32_t t) const {
  const auto [process, thread] = in_.graph.origin[t];
  return in_.tracing.processes[process].threads[thread].operations;
}

// Turns of a loop around the line, with their calls, and the CPU time before each.
void WholeCalls::add_turns(AskedLine& line, uint32_t t, const std::vector<uint32_t>& waits,
                           const std::vector<Nanoseconds>& before) {
  const Turns turns = turns_of(operations_of(t), in_.sites, waits, [this](SiteIndex call, SiteIndex wait) {
    return in_function_.asked(call, wait, places_.in_function_of, in_.sites.size());
  });
  for (const Turns::Turn& turn : turns.all) remove_all(t, turn.begin, turn.end, before, line.turns);
  line.required.turns += turns.all.size();
  line.required.loops += turns.loops;
}

// Parts of the library's call that wait. The CPU time before the first call is mostly spent on the way to it; longer than all calls
// take, it is something else.
void WholeCalls::add_parts(AskedLine& line, uint32_t t, const std::vector<uint32_t>& waits,
                           std::vector<Nanoseconds>& before) {
  const std::vector<Operation>& operations = operations_of(t);
  const auto parts = library_parts_of(operations, in_.sites, waits, [this](SiteIndex call, SiteIndex wait) {
    return in_part_.asked(call, wait, places_.in_part_of, in_.sites.size());
  });
  for (const LibraryPart& part : parts) {
    Nanoseconds calls;
    for (uint32_t i = part.begin; i <= part.last; ++i) calls += operations[i].call;
    const Nanoseconds whole = std::exchange(before[part.begin], std::min(before[part.begin], calls));
    remove_all(t, part.begin, part.last, before, line.parts);
    before[part.begin] = whole;
    line.required.in_parts += part.waits;
  }
}

// The calls from `begin` to `last` that give work, move data or wait, with the CPU's time before each; that of others belongs to
// the next that goes.
void WholeCalls::remove_all(uint32_t t, uint32_t begin, uint32_t last, const std::vector<Nanoseconds>& before,
                            std::vector<Change>& changes) const {
  Nanoseconds time;  // since the last call that goes: of the CPU, and of calls that ask for attributes
  for (uint32_t i = begin; i <= last; ++i) {
    const Operation& operation = operations_of(t)[i];
    const DriverFunction* function = function_of(in_.sites[operation.site]);
    const bool goes = function && (gives_work(function->role) || function->role == Role::transfer);
    time += before[i];
    if (goes || is_wait(operation)) {
      Change& change = changes.emplace_back(removed(t, i));
      change.call_removed = goes || (function && function->role == Role::synchronize);
      change.before = std::exchange(time, {});
    } else if (!function || function->role != Role::query) {
      time += operation.call;
    }
  }
}

// Where most of the line's waits are in turns; else in parts.
void WholeCalls::take(AskedLine& line) const {
  Required& required = line.required;
  const bool turns = in_turns(required.count, required.turns);
  const bool parts = !turns && in_parts(required.count, required.in_parts) && may_go(line);
  if (!turns) required.turns = required.loops = 0;
  if (!parts) {
    required.in_parts = 0;
    required.part = PartOfCall::none;
    required.part_name.clear();
  }
  const std::vector<Change> all_turns = std::exchange(line.turns, {}),
                            all_parts = std::exchange(line.parts, {});
  if (!turns && !parts) return;
  line.whole = replaced(line.whole, turns ? all_turns : all_parts);
  Nanoseconds most;
  for (const Change& change : line.whole) {
    const auto [process, thread] = in_.graph.origin[change.thread];
    const Operation& operation = in_.tracing.processes[process].threads[thread].operations[change.operation];
    most += operation.call + change.before + change.behind;
  }
  line.most = std::max(line.most, most);
}

// A part is done once only if it finds the same each time.
bool WholeCalls::may_go(const AskedLine& line) const {
  if (line.required.part != PartOfCall::done_once) return true;
  if (!places_.brought) return false;
  BroughtValues values;
  for (const auto& [call, count] : line.calls) {
    if (call.first.value >= places_.brought->size()) continue;
    values.all += (*places_.brought)[call.first.value].all;
    values.same += (*places_.brought)[call.first.value].same;
  }
  return values.all > 0 && kPartOfSame * values.same >= (kPartOfSame - 1) * values.all;
}

Change WholeCalls::removed(uint32_t thread, uint32_t i) const {
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

}  // namespace diogenes
