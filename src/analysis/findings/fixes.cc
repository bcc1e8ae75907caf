#include "analysis/findings/fixes.h"

#include <string_view>

#include "analysis/findings/right_together.h"
#include "analysis/symbols/wording.h"

namespace diogenes {
namespace {

struct Line {
  ProblemKind kind;
  const char* operation;  // prefix of the operation, "" for any
  Role role;
  const char* fix;
  const char* condition;  // "" for none
  const char* code =
      kUsualCheck;  // another one: whoever forgets it breaks the program, so every view says it
};

// Of memory that the copy still reads or writes when the call is over, where it is done by then now.
constexpr const char* kCopyUnderWay = "copy-under-way";

constexpr auto kUnnecessary = ProblemKind::unnecessary_synchronization;
constexpr auto kMisplaced = ProblemKind::misplaced_synchronization;
constexpr auto kDuplicate = ProblemKind::duplicate_transfer;

// The first line that fits is taken.
constexpr Line kLines[] = {
    {kUnnecessary, "", Role::synchronize, "remove the call", ""},
    {kUnnecessary, "", Role::registration,
     "register the memory once and keep it registered, instead of for every use",
     "unregister the memory only after the last GPU work that uses it: so far, the wait inside the call sees to that"},
    {kUnnecessary, "", Role::fill,
     "use cudaMemsetAsync, or memset where the memory is host or managed memory that the CPU works on",
     "the CPU must not touch the memory before the fill is done"},
    {kUnnecessary, "cuMemcpyDtoH", Role::transfer,
     "use cudaMemcpyAsync into pinned memory and wait where the data is read, or drop the copy if nothing "
     "reads it",
     "the data must not be read before a wait: in these runs, a later synchronization came first"},
    {kUnnecessary, "cuMemcpyHtoD", Role::transfer,
     "use cudaMemcpyAsync from pinned memory, on the stream of the work that reads the data; use two buffers in turn, "
     "record an event after each copy, and wait for it before its buffer is written again",
     "the source must not be written before the copy is done", kCopyUnderWay},
    {kUnnecessary, "", Role::transfer,
     "use the asynchronous copy with pinned memory, on the stream of the work that reads the data",
     "source and destination must not be touched by the CPU before the copy is done", kCopyUnderWay},
    {kUnnecessary, "", Role::module,
     "load the module once before the work begins, and unload it after the work ends", ""},
    {kUnnecessary, "", Role::allocate, "allocate once before the work begins and keep the memory", ""},
    {kUnnecessary, "", Role::stream, "create the stream once and keep it", ""},
    {kUnnecessary, "", Role::event, "create the event once and keep it", ""},
    {kUnnecessary, "", Role::context, "create the context once and keep it", ""},
    {kMisplaced, "", Role::synchronize,
     "record an event in its place, and wait for that event just before the first use of the data (the call itself, "
     "moved there, would also wait for later work)",
     ""},
    {kMisplaced, "", Role::transfer,
     "use the asynchronous copy with pinned memory, and wait just before the first use of the data", ""},
    {kMisplaced, "", Role::fill, "use cudaMemsetAsync, and wait just before the first use of the data", ""},
    {ProblemKind::wide_synchronization, "", Role::synchronize,
     "wait for one stream only: cudaStreamSynchronize(stream), where stream is the one that this thread gave its work",
     "work in other streams may still run after it: wait for that work where it is needed", "one-stream"},
    {ProblemKind::ordering_synchronization, "", Role::synchronize,
     "let the GPU wait, not the CPU: replace the call by cudaEventRecord(event, stream), where stream is the one that "
     "it waits for, and cudaStreamWaitEvent(next, event), where next is the stream that gets work next",
     "the CPU no longer waits: work that it gives other streams later has to wait for the event, too",
     "gpu-waits"},
    {ProblemKind::wide_synchronization, "", Role::transfer,
     "give the copy to the stream whose kernel wrote the data, and wait for that one: cudaMemcpyAsync(..., stream), then "
     "cudaStreamSynchronize(stream)",
     "work in other streams may still run after it: wait for that work where it is needed", "one-stream"},
    {kDuplicate, "", Role::transfer,
     "remove the copy: send the data once, and again only when it has changed",
     "with other input the data may differ between copies: make sure that nothing writes to the source or the destination"},
    {ProblemKind::duplicate_elsewhere, "", Role::transfer,
     "keep the data that was sent before, and copy it on the device instead (cudaMemcpyAsync, device to "
     "device), on the stream of the work that reads it",
     "with other input the data may differ between copies; the data that is kept must not be overwritten or released "
     "before the copy"},
    {ProblemKind::constant_transfer, "", Role::transfer,
     "write the value on the device with cudaMemsetAsync, on the stream of the work that reads it",
     "with other input the data may be more than one value"},
    {ProblemKind::unused_transfer, "cuMemcpyDtoH", Role::transfer,
     "remove the copy, or make it only where its data is read", "with other input the data may be read"},
    {ProblemKind::unused_transfer, "", Role::transfer,
     "remove the copy, or make it only where its data is used",
     "with other input the data may be used; a device that reads GPU memory by itself (RDMA) is not seen"},
    {ProblemKind::small_transfers, "cuMemcpyDtoH", Role::transfer,
     "bring all of it back by one copy, and read the parts from there",
     "the parts must lie side by side in each run, as they did in this one"},
    {ProblemKind::small_transfers, "", Role::transfer,
     "collect the parts in one buffer, and send them by one copy",
     "the parts must lie side by side on the device in each run, as they did in this one"},
    {ProblemKind::pageable_transfer, "cuMemcpyDtoH", Role::transfer,
     "bring the data into pinned memory (cudaMallocHost, or cudaHostRegister once), so that the call returns "
     "at once",
     "the CPU must wait for the copy before it reads the data: so far, the call itself waits", kCopyUnderWay},
    {ProblemKind::pageable_transfer, "", Role::transfer,
     "send the data from two pinned buffers in turn (cudaMallocHost, or cudaHostRegister once), so that the call "
     "returns at once; "
     "record an event after each copy, and wait for it before its buffer is written again",
     "the source must not be written before the copy is done: so far, the call returns only when it has read the source",
     kCopyUnderWay},
    {ProblemKind::repeated_allocation, "", Role::allocate,
     "allocate once before the loop and release after it (or keep the memory in a pool)", ""},
    {ProblemKind::unused_allocation, "", Role::allocate, "remove the allocation and its release",
     "with other input the memory may be used"},
};

// The fix of a round trip is that of its instances: most of them decide.
constexpr const char* kStillHeld =
    "remove the copy back: the device still holds the data; the copy to the host may go, too, where the CPU does "
    "not read it";
constexpr const char* kCopyOnDevice =
    "keep the data on the device and copy it there (cudaMemcpyAsync, device to device), instead of sending it "
    "back; the copy to the host may go, too, where the CPU does not read it";

constexpr const char* kMemsetZeros =
    "write zeros on the device with cudaMemsetAsync, on the stream of the work that reads them";
// cudaMemset writes bytes only.
constexpr const char* kMemsetWords =
    "write the value on the device with cuMemsetD32Async (or D16) of the driver API, or with a kernel, on the "
    "stream of the work that reads it";

// The fix of a release whose wait is needless, as its figure has it.
constexpr const char* kHoist =
    "move the allocation and the release out of the loop: allocate once, use the memory again, release it at "
    "the end";
constexpr const char* kPool =
    "keep the memory in a pool for the next allocation of its size, instead of releasing it";
constexpr const char* kStreamOrdered =
    "release the memory with cudaFreeAsync (and allocate it with cudaMallocAsync)";
constexpr const char* kReleaseLater = "release the pinned memory after the last GPU work is done";
// Of memory that the wait keeps from being used again too soon.
constexpr const char* kTwoInTurn =
    "allocate two before the loop and use them in turn: record an event after the GPU work that uses one, and wait "
    "for that event before the CPU writes to it again";

const char* release_fix(const Problem& problem, const DriverFunction& function) {
  if (keeps_memory(problem) && problem.needs_new_memory() > 0)
    return std::string_view(function.operation) == "cuMemFreeHost" ? kTwoInTurn : kStreamOrdered;
  if (2 * problem.allocations >= problem.count && problem.allocations > 0) return kHoist;
  if (problem.call_removed) return kPool;
  return std::string_view(function.operation) == "cuMemFreeHost" ? kReleaseLater : kStreamOrdered;
}

// Of a wait that a library makes by itself: its call is not the user's.
std::string library_fix(const LibraryWait& library, bool misplaced) {
  std::string fix =
      library.copy_of_torch
          ? "pin the memory and pass non_blocking=True: the wait is part of " + library.function
          : "the wait is inside " + library.function + ": look for a form of it that does not wait";
  return misplaced ? fix + ", and wait just before the first use of the data" : fix;
}

// Some calls are needed: only those may stay.
std::string where_used(const std::string& use_at) {
  return "make the call only where its result is used" + (use_at.empty() ? "" : ": at " + use_at);
}

// Roles that no line names (batches, graphs, mapping): what can be said of any call.
constexpr Line kOtherwise[] = {
    {kUnnecessary, "", Role::synchronize,
     "use an asynchronous form of the call, or make it where nothing is running", ""},
    {kMisplaced, "", Role::synchronize,
     "use an asynchronous form of the call, and wait just before the first use of the data", ""},
    {kDuplicate, "", Role::synchronize,
     "remove the call: send the data once, and again only when it has changed", ""},
    {ProblemKind::duplicate_elsewhere, "", Role::synchronize, "copy the data on the device instead", ""},
    {ProblemKind::constant_transfer, "", Role::synchronize, "write the value on the device", ""},
    {ProblemKind::round_trip, "", Role::synchronize, "keep the data on the device", ""},
    {ProblemKind::unused_transfer, "", Role::synchronize, "remove the call", ""},
    {ProblemKind::small_transfers, "", Role::synchronize, "make one copy of all of it", ""},
    {ProblemKind::pageable_transfer, "", Role::synchronize, "use pinned memory", ""},
    {ProblemKind::repeated_allocation, "", Role::synchronize, "make the call once, and keep its result", ""},
    {ProblemKind::unused_allocation, "", Role::synchronize, "remove the call", ""},
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

// 'in 3 of 5 cases, ', or nothing where it is all.
std::string in_some(uint64_t some, uint64_t all) {
  return some == all ? "" : "in " + grouped(some) + " of " + grouped(all) + " cases, ";
}

std::string in_the_others(const Problem& problem, const std::string& use_at) {
  std::string where = use_at.empty() ? "" : " at " + use_at;
  if (problem.unwatched == 0) return "used" + where + " in the others";
  std::string unknown = "could not be watched, or were needed for another reason, and count as needed";
  if (problem.used == 0) return "the others " + unknown;
  return "used" + where + " in " + grouped(problem.used) + " of the others; " + grouped(problem.unwatched) +
         " " + unknown;
}

std::string unnecessary_why(const Problem& problem, const std::string& use_at) {
  const bool all = problem.count == problem.looked_at();
  std::string text =
      "nothing used the result" +
      (all ? "" : " of " + grouped(problem.count) + " of " + grouped(problem.looked_at()) + " calls") +
      " before a later synchronization waited for the same work";
  if (all) return text;
  if (problem.used + problem.unwatched > 0) return text + "; " + in_the_others(problem, use_at);
  return text + "; the others are duplicate transfers, a finding of their own";
}

std::string transfer_why(const Problem& problem) {
  const bool all = problem.count == problem.looked_at();
  const std::string of = (all && problem.count > 1 ? "all " : "") + grouped(problem.count) +
                         (all ? " " : " of " + grouped(problem.looked_at()) + " ");
  switch (problem.kind) {
    case ProblemKind::duplicate_transfer:
      return of + "transfers carried data that the destination already held";
    case ProblemKind::duplicate_elsewhere:
      return of + "transfers carried data that was sent to another place of the device before";
    case ProblemKind::constant_transfer:
      return of + "transfers carried one value over and over" +
             (problem.words > 0 ? ", of 2 or 4 bytes in " + grouped(problem.words) + " of them"
                                : std::string());
    case ProblemKind::round_trip:
      return of + "transfers carried data that came from the device and did not change on the host; " +
             (problem.held == 0 ? std::string("the destination did not hold it any more")
                                : in_some(problem.held, problem.count) +
                                      "the destination still held it, so nothing has to be copied");
    case ProblemKind::unused_transfer:
      return of + "transfers carried data that was overwritten or released before anything could use it";
    case ProblemKind::small_transfers:
      return of + "transfers directly followed another one of this call, to the memory next to it: " +
             grouped(problem.bytes.count / std::max<uint64_t>(problem.count, 1)) + " bytes each";
    case ProblemKind::pageable_transfer:
      return of + "asynchronous transfers used pageable memory, and so did not return at once";
    case ProblemKind::repeated_allocation:
      return of + "allocations by this call got as much memory as was released just before";
    case ProblemKind::unused_allocation:
      return of + "allocations were released before anything could use them";
    default:
      return "";
  }
}

std::string why_of(const Problem& problem, const std::string& use_at) {
  if (problem.kind == ProblemKind::unnecessary_synchronization) return unnecessary_why(problem, use_at);
  if (problem.kind == ProblemKind::wide_synchronization)
    return grouped(problem.count) + " of " + grouped(problem.looked_at()) +
           " calls wait for all streams of the context, but only the work of one stream is needed";
  if (problem.kind == ProblemKind::ordering_synchronization)
    return "in " + grouped(problem.count) + " of " + grouped(problem.looked_at()) +
           " calls, the CPU does not need what it waits for: only work that the GPU gets later does";
  if (problem.kind != ProblemKind::misplaced_synchronization) return transfer_why(problem);
  std::string text = "what the calls wait for is used only later";
  if (problem.count < problem.looked_at())
    text += ", in " + grouped(problem.count) + " of " + grouped(problem.looked_at()) +
            " calls so much later that moving the wait gains";
  return text;
}

void add_transfer(const Problem& problem, std::vector<ReportCondition>& conditions) {
  if (problem.unnecessary_waits > 0) {
    bool all = problem.unnecessary_waits == problem.count;
    conditions.push_back(
        {"wait-included",
         "the wait in " +
             (all ? std::string("these calls") : grouped(problem.unnecessary_waits) + " of these calls") +
             " is unnecessary, too; its part of the benefit is included"});
  }
  uint64_t needed = 0;
  for (const Change& change : problem.changes)
    needed += change.waits && change.wait_change == Change::Wait::kept;
  const uint64_t not_judged = std::min(needed, problem.waits_not_judged);
  needed -= not_judged;
  if (not_judged > 0)
    conditions.push_back(
        {"wait-not-judged", "the wait in " + grouped(not_judged) +
                                " of these calls was not judged: keep a synchronization there"});
  if (needed > 0)
    conditions.push_back(
        {"wait-needed", "the wait in " + grouped(needed) +
                            " of these calls is needed for other work: keep a synchronization there"});
}

// What the figure takes in beside the problem's own calls.
void add_companions(const Problem& problem, const std::string& allocation_at,
                    std::vector<ReportCondition>& conditions) {
  if (problem.allocations == 0) return;
  std::string where = allocation_at.empty() ? "" : " (most at " + allocation_at + ")";
  if (problem.kind == ProblemKind::repeated_allocation)
    conditions.push_back(
        {"release-included",
         "the release before each of these calls goes, too" + where +
             "; its time is part of the benefit. If the wait inside it is needed, wait elsewhere"});
  else
    conditions.push_back({"allocations-included", grouped(problem.allocations) +
                                                      " allocations of the same size" + where +
                                                      " go, too; their time is part of the benefit"});
}

// Of waits: what was seen around them, and what their verdicts rest on.
void add_seen(const Problem& problem, std::vector<ReportCondition>& conditions) {
  if (problem.conditional[1] > 0)
    conditions.push_back(
        {"copy-in-use",
         in_some(problem.conditional[1], problem.count) +
             "an asynchronous copy that nothing had waited for still used the memory: its next user must come after "
             "that copy"});
  if (problem.conditional[2] > 0)
    conditions.push_back(
        {"kernel-prints",
         in_some(problem.conditional[2], problem.count) +
             "the output of kernels (printf) appears at this call; without the wait, at a later one"});
  const bool unnecessary = problem.kind == kUnnecessary;
  if (unnecessary || problem.kind == kMisplaced)
    conditions.push_back(
        {"timer", "a timer that is read after this call will show less: the GPU may not be done by then"});
  if (!problem.around) return;
  const CallContext& around = *problem.around;
  if (unnecessary && around.errors_first > 0)
    conditions.push_back({"errors-surface", in_some(around.errors_first, around.waits) +
                                                "kernel errors will show at a later call"});
  if (unnecessary && around.elapsed_behind > 0)
    conditions.push_back(
        {"event-timer", in_some(around.elapsed_behind, around.waits) +
                            "cuEventElapsedTime follows, and fails if nothing has waited for its events"});
  if (unnecessary && around.most_launches > kLaunchQueue)
    conditions.push_back(
        {"throttles", "it throttles the launch queue: without it, up to " + grouped(around.most_launches) +
                          " launches follow each other, and only about " + grouped(kLaunchQueue) + " fit"});
}

}  // namespace

Advice advice_for(const Problem& problem, const DriverFunction& function, const std::string& use_at,
                  const std::string& allocation_at, const std::optional<LibraryWait>& library,
                  const std::string& instead) {
  const Line& line = line_for(problem.kind, function);
  Advice advice{why_of(problem, use_at), line.fix, {}};
  // First, so that no view leaves it out.
  if (problem.conditional[0] > 0)
    advice.conditions.push_back(
        {"kernel-arguments",
         in_some(problem.conditional[0], problem.count) +
             "make sure that kernels reach the program's pinned, registered and managed memory by their arguments "
             "only, not by "
             "addresses in global variables or in device memory: the finding rests on that"});
  if (problem.apart)
    advice.conditions.push_back(
        {"not-together",
         keeps_memory(problem)
             ? "do not combine this with the other findings, which gain more: memory that is reused needs waits that "
               "they remove"
             : "do not combine this with 'allocate once' of the other findings, which gain more: once memory is reused, " +
                   in_some(problem.needs_new_memory(), problem.count) +
                   (problem.kind == kMisplaced ? "this wait is needed sooner" : "this wait is needed")});
  if (problem.left_out > 0)
    advice.conditions.push_back(
        {"sampled", grouped(problem.looked_at()) + " of " + grouped(problem.instances) +
                        " calls were looked at, because of --max-overhead; the others "
                        "count as needed, and are not in the figure"});
  const bool release = problem.kind == kUnnecessary && function.role == Role::release;
  if (problem.transfer_issue() || is_allocation_kind(problem.kind)) add_transfer(problem, advice.conditions);
  if (problem.kind == ProblemKind::round_trip)
    advice.fix = 2 * problem.held >= problem.count ? kStillHeld : kCopyOnDevice;
  if (problem.kind == ProblemKind::constant_transfer && problem.words > 0) advice.fix = kMemsetWords;
  if (problem.kind == ProblemKind::constant_transfer && problem.zeros == problem.count)
    advice.fix = kMemsetZeros;
  if (release) advice.fix = release_fix(problem, function);
  const bool wait = problem.kind == kUnnecessary || problem.kind == kMisplaced;
  if (library && wait && function.role == Role::synchronize)
    advice.fix = library_fix(*library, problem.kind == kMisplaced);
  // What is brought is used: its figure is that of pinned memory, and not of a form that has nothing to bring.
  const bool sends = function.direction == Direction::host_to_device;
  const bool by_its_form = (library && wait) || (problem.kind == ProblemKind::pageable_transfer && sends);
  if (by_its_form && !instead.empty()) advice.fix = instead;
  if (problem.kind == kUnnecessary && !library && function.role == Role::synchronize && problem.used > 0)
    advice.fix = where_used(use_at);
  if (*line.condition) advice.conditions.push_back({line.code, line.condition});
  add_companions(problem, allocation_at, advice.conditions);
  if (release) {
    advice.conditions.push_back(
        {kUsualCheck,
         "memory must be reused in stream order: so far, the wait inside the release keeps it from its next user "
         "while GPU work may still use it"});
    if (!problem.call_removed)
      advice.conditions.push_back(
          {"wait-only", "the figure is for the wait only: the memory still has to be released"});
  }
  add_seen(problem, advice.conditions);
  return advice;
}

namespace {

std::string fix_of_wait(const Required& required, const PythonAdvice& instead) {
  switch (required.fix(instead.form())) {
    case Asks::to_make_on_gpu:
      return "make this data on the GPU, or send once what it is made from and select on the GPU; or make and send the "
             "next piece while the GPU works";
    case Asks::for_all_turns_at_once: {
      const std::string at_once =
          "do all turns of the loop around it at once, if none needs what another finds: the same operations on whole tensors, "
          "with one result for all";
      return instead.form() == AnotherForm::spares_the_wait ? at_once + "; or " + instead.text : at_once;
    }
    case Asks::for_another_form:
      if (required.part == PartOfCall::done_once)
        return "do what " + required.part_name +
               " does once, before the loop, if what it is given stays the same; or avoid masks there";
      return instead.text;
    case Asks::for_one_copy:
      return "put the " + grouped(required.count) + " results of " +
             grouped(required.bytes.count / required.count) +
             " bytes side by side on the GPU, and bring them back with one copy";
    case Asks::to_work_on_gpu:
      return "do on the GPU what the CPU does with this data, and bring back only the result";
    case Asks::less_often:
      break;
  }
  return required.bytes.count > 0
             ? "bring the result back less often (every n-th time), or later (cudaMemcpyAsync into pinned memory, "
               "record an event, and read it one iteration later); or use it on the GPU"
             : "wait less often, or later, right before the result is used; or use it on the GPU";
}

}  // namespace

std::string required_fix(const Required& required, const PythonAdvice& instead) {
  const std::string fix = fix_of_wait(required, instead);
  return required.unused.count > 0 ? fix + "; and bring no more of the data than the CPU looks at" : fix;
}

}  // namespace diogenes
