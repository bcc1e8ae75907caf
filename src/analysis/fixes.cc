#include "analysis/fixes.h"

#include <string_view>

#include "analysis/words.h"

namespace diogenes {
namespace {

struct Line {
  ProblemKind kind;
  const char* operation;  // prefix of the operation, "" for any
  Role role;
  const char* fix;
  const char* condition;  // "" for none
};

constexpr auto kUnnecessary = ProblemKind::unnecessary_synchronization;
constexpr auto kMisplaced = ProblemKind::misplaced_synchronization;
constexpr auto kDuplicate = ProblemKind::duplicate_transfer;

// The first line that fits is taken.
constexpr Line kLines[] = {
    {kUnnecessary, "", Role::synchronize, "remove the call",
     "errors of earlier GPU work surface here, and a timer read behind the call would stop earlier without "
     "it"},
    {kUnnecessary, "cuMemFreeHost", Role::release,
     "keep the pinned memory and use it again, or release it after the last GPU work is done",
     "the wait inside the release keeps the memory valid for GPU work that may still use it"},
    {kUnnecessary, "", Role::release,
     "move the allocation out of the loop, or use cudaMallocAsync/cudaFreeAsync (a memory pool), so that the "
     "memory is "
     "reused in stream order",
     "the wait inside a free keeps the memory from being reused while GPU work may still use it: the reuse "
     "must stay "
     "in stream order"},
    {kUnnecessary, "", Role::registration,
     "register the memory once and keep it registered, instead of for every use",
     "the wait inside the call keeps the memory pinned for GPU work that may still use it"},
    {kUnnecessary, "", Role::fill,
     "use cudaMemsetAsync, or memset where the memory is host or managed memory that the CPU works on",
     "the CPU must not touch the memory before the fill is done"},
    {kUnnecessary, "cuMemcpyDtoH", Role::transfer,
     "use cudaMemcpyAsync into pinned memory and wait where the data is read, or drop the copy if nothing "
     "reads it",
     "the data was not read before a later synchronization covered it"},
    {kUnnecessary, "cuMemcpyHtoD", Role::transfer,
     "use cudaMemcpyAsync from pinned memory, on the stream of the work that reads the data",
     "the source must not be written before the copy is done"},
    {kUnnecessary, "", Role::transfer,
     "use the asynchronous copy with pinned memory, on the stream of the work that reads the data",
     "source and destination must not be touched by the CPU before the copy is done"},
    {kUnnecessary, "", Role::module,
     "load the module once before the work begins, and unload it after the work ends", ""},
    {kUnnecessary, "", Role::allocate, "allocate once before the work begins and keep the memory", ""},
    {kUnnecessary, "", Role::stream, "create the stream once and keep it", ""},
    {kUnnecessary, "", Role::event, "create the event once and keep it", ""},
    {kUnnecessary, "", Role::context, "create the context once and keep it", ""},
    {kMisplaced, "", Role::synchronize,
     "record an event in its place, and wait for the event just before the first use of the data (the call "
     "itself, moved there, would wait for later work too)",
     ""},
    {kMisplaced, "", Role::transfer,
     "use the asynchronous copy with pinned memory, and wait just before the first use of the data", ""},
    {kMisplaced, "", Role::fill, "use cudaMemsetAsync, and wait just before the first use of the data", ""},
    {kDuplicate, "", Role::transfer,
     "remove the copy: send the data once, and again only when it has changed",
     "with other input the data may differ between copies: make sure that nothing writes source or "
     "destination"},
};

// Roles that no line names (batches, graphs, mapping): what can be said of any call.
constexpr Line kOtherwise[] = {
    {kUnnecessary, "", Role::synchronize,
     "use an asynchronous form of the call, or make it where nothing is running", ""},
    {kMisplaced, "", Role::synchronize,
     "use an asynchronous form of the call, and wait just before the first use of the data", ""},
    {kDuplicate, "", Role::synchronize,
     "remove the call: send the data once, and again only when it has changed", ""},
};

const Line& line_for(ProblemKind kind, const DriverFunction& function) {
  for (const Line& line : kLines)
    if (line.kind == kind && line.role == function.role &&
        std::string_view(function.operation).starts_with(line.operation))
      return line;
  for (const Line& line : kOtherwise)
    if (line.kind == kind) return line;
  return kOtherwise[0];
}

std::string in_the_others(const Problem& problem, const std::string& use_at) {
  std::string where = use_at.empty() ? "" : " at " + use_at;
  if (problem.unwatched == 0) return "used" + where + " in the others";
  std::string unknown = "could not be watched or needed otherwise, and count as needed";
  if (problem.used == 0) return "the others " + unknown;
  return "used" + where + " in " + grouped(problem.used) + " of the others; " + grouped(problem.unwatched) +
         " " + unknown;
}

void add_unnecessary(const Problem& problem, const std::string& use_at,
                     std::vector<std::string>& conditions) {
  if (problem.count == problem.instances) return;
  std::string text = "unnecessary in " + grouped(problem.count) + " of " + grouped(problem.instances);
  if (problem.used + problem.unwatched > 0)
    text += "; " + in_the_others(problem, use_at);
  else
    text += "; the others are duplicate transfers, a finding of their own";
  conditions.push_back(text);
}

void add_duplicate(const Problem& problem, std::vector<std::string>& conditions) {
  conditions.push_back(grouped(problem.count) + " of " + grouped(problem.instances) +
                       " transfers carried data that the destination already held");
  if (problem.unnecessary_waits > 0) {
    bool all = problem.unnecessary_waits == problem.count;
    conditions.push_back("the wait in " +
                         (all ? std::string("them") : grouped(problem.unnecessary_waits) + " of them") +
                         " is unnecessary too, and its part of the benefit is included");
  }
  uint64_t needed = 0;
  for (const Change& change : problem.changes)
    needed += change.waits && change.wait_change == Change::Wait::kept;
  if (needed > 0)
    conditions.push_back("the wait in " + grouped(needed) +
                         " of them is needed for other work: keep a synchronization there");
}

}  // namespace

bool fix_removes_call(const DriverFunction& function, const Operation& operation) {
  switch (function.role) {
    case Role::synchronize:
      return true;
    // Kept and used again; memory that is not allocated again has to be released all the same.
    case Role::release:
      return operation.reused;
    default:
      return false;
  }
}

Advice advice_for(const Problem& problem, const DriverFunction& function, const std::string& use_at) {
  const Line& line = line_for(problem.kind, function);
  Advice advice{line.fix, {}};
  switch (problem.kind) {
    case ProblemKind::unnecessary_synchronization:
      add_unnecessary(problem, use_at, advice.conditions);
      break;
    case ProblemKind::duplicate_transfer:
      add_duplicate(problem, advice.conditions);
      break;
    case ProblemKind::misplaced_synchronization:
      if (problem.count < problem.instances)
        advice.conditions.push_back("in " + grouped(problem.count) + " of " + grouped(problem.instances) +
                                    " the first use comes late enough for a move to gain");
      break;
  }
  if (*line.condition) advice.conditions.emplace_back(line.condition);
  if (problem.kind == kUnnecessary && function.role == Role::release && !problem.call_removed)
    advice.conditions.emplace_back(
        "the figure is that of the wait only: the memory still has to be released");
  return advice;
}

}  // namespace diogenes
