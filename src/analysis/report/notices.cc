#include "analysis/report/notices.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/symbols/wording.h"
#include "trace/plan_reader.h"
#include "trace/searched_copies.h"

namespace diogenes {
namespace {

const char* hook_sentence(HookState state) {
  switch (state) {
    case HookState::bytes_differ:
      return "their code in memory is not what the file holds (patched by another tool?)";
    case HookState::no_memory_near:
      return "there was no free memory near the driver's code";
    case HookState::protected_:
      return "the kernel refused to make the code writable";
    case HookState::not_tried:
    case HookState::installed:
      break;
  }
  return "";
}

std::string process_name(const ProcessTrace& trace) {
  std::string name = "process " + std::to_string(trace.process.pid);
  return trace.process.rank >= 0 ? name + " (rank " + std::to_string(trace.process.rank) + ")" : name;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  size_t shown = 0;
  for (const std::string& name : names) {
    if (++shown > 5) return text + " and " + std::to_string(names.size() - 5) + " more";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

void hook_notices(const Run& run, const std::string& stage, std::vector<ReportNotice>& notices) {
  std::vector<uint16_t> functions = planned_functions(run.trace.folder);
  std::map<HookState, std::set<std::string>> skipped;
  for (const ProcessTrace& trace : run.trace.processes)
    for (uint32_t i = 0; i < trace.process.hook_count; ++i) {
      auto state = static_cast<HookState>(trace.process.hook_state[i]);
      if (!*hook_sentence(state)) continue;
      const DriverFunction* function = i < functions.size() ? driver_function(functions[i]) : nullptr;
      bool wait = i < functions.size() && functions[i] == kWaitFunction;
      bool queue = i < functions.size() && functions[i] == kQueueWaitFunction;
      skipped[state].insert(function ? function->symbol
                            : wait   ? "the wait function"
                            : queue  ? "the launch-queue wait"
                                     : "hook " + std::to_string(i));
    }
  for (const auto& [state, names] : skipped)
    notices.push_back({"functions-not-hooked",
                       stage + ": " + counted(names.size(), "driver function was", "driver functions were") +
                           " not hooked (" + joined(names) + "): " + hook_sentence(state) +
                           "; their calls are missing"});
}

// Copies to the device in which the agent looked for no addresses, though there was memory of the host's for kernels to find.
uint64_t not_searched(const ProcessTrace& process) {
  uint64_t copies = 0;
  bool pinned = false;
  for (const ThreadTrace& thread : process.threads) {
    for (size_t i = 0; i < thread.record_count(); ++i) {
      if (thread.type(i) == RecordType::transfer) {
        const auto& copy = thread.record<TransferRecord>(i);
        copies += copy.bytes > kMostSearched && copy.destination_kind == MemoryKind::device &&
                  copy.source_kind != MemoryKind::device && copy.source_kind != MemoryKind::unknown;
      } else if (thread.type(i) == RecordType::allocation) {
        const MemoryKind kind = thread.record<AllocationRecord>(i).kind;
        pinned |= kind == MemoryKind::pinned || kind == MemoryKind::registered;
      }
    }
    thread.release_pages();
  }
  return pinned ? copies : 0;
}

// What facts left open, each with what follows from it.
void judgement_notices(const Judgement& judgement, const std::string& stage,
                       std::vector<ReportNotice>& notices) {
  const Unclear& unclear = judgement.unclear;
  auto say = [&](uint64_t count, const char* one, const char* several, const char* consequence,
                 const char* code = "not-seen") {
    if (count > 0) notices.push_back({code, stage + ": " + counted(count, one, several) + consequence});
  };
  say(unclear.calls + unclear.operands, "call uses memory", "calls use memory",
      " that was not recorded: it may be any, and waits for these calls count as needed");
  say(unclear.streams + unclear.marks, "call uses a stream or an event", "calls use a stream or an event",
      " that was not seen before: what such a call waits for is not known, and may be anything");
  say(unclear.watches, "record of watched memory belongs", "records of watched memory belong",
      " to no watch that was recorded; the session may be damaged");
  say(judgement.too_many, "synchronization was not judged", "synchronizations were not judged",
      ", because that would take too long: much of the GPU work may reach any memory, in many streams; measure fewer "
      "iterations");
  say(judgement.peers, "access of another process to the program's memory was",
      "accesses of other processes to the program's memory were",
      " seen (by its process id); programs that this run did not start can do so unseen",
      kReachedFromOutside);
  say(judgement.devices, "device was opened", "devices were opened",
      " that can access memory directly (RDMA); what is read or written in that way is not seen",
      kReachedFromOutside);
  say(judgement.files, "file /proc/PID/mem was opened", "files /proc/PID/mem were opened",
      ", through which memory can be read and written unseen: from then on, waits count as needed");
  say(judgement.withdrawn, "finding was", "findings were",
      " withdrawn by the check that all findings are right together");
  say(judgement.unchecked, "memory access was", "memory accesses were",
      " left out of the check that all findings are right together: there were too many to one piece of memory");
}

}  // namespace

std::vector<std::string> lost_operations(const Run& run, const std::string& stage) {
  uint64_t drops[kDropCauses] = {};
  for (const ProcessTrace& trace : run.trace.processes)
    for (int i = 0; i < kDropCauses; ++i) drops[i] += trace.process.drops[i];
  std::vector<std::string> lost;
  uint64_t unread = 0;
  for (const ProcessTrace& trace : run.trace.processes)
    if (trace.process.threads > trace.threads.size() && trace.process.threads <= kMaximumThreads)
      unread += trace.process.threads - trace.threads.size();
  if (unread > 0)
    lost.push_back(stage + ": the records of " + counted(unread, "thread", "threads") +
                   " cannot be read: calls are missing");
  for (int i = 0; i < kDropCauses; ++i)
    if (drops[i] > 0 && loses_operations(static_cast<Drop>(i)))
      lost.push_back(stage + ": " + counted(drops[i], "time", "times") + ": " +
                     drop_sentence(static_cast<Drop>(i)));
  return lost;
}

void stage_notices(const Run& run, const std::string& stage, std::vector<ReportNotice>& notices) {
  for (const std::string& text : run.trace.missing) notices.push_back({"records-missing", text});
  uint64_t drops[kDropCauses] = {};
  for (const ProcessTrace& trace : run.trace.processes)
    for (int i = 0; i < kDropCauses; ++i) drops[i] += trace.process.drops[i];
  for (int i = 0; i < kDropCauses; ++i)
    if (drops[i] > 0 && !loses_operations(static_cast<Drop>(i)))
      notices.push_back({"records-lost", stage + ": " + counted(drops[i], "time", "times") + ": " +
                                             drop_sentence(static_cast<Drop>(i))});
  hook_notices(run, stage, notices);
  for (const ProcessTrace& trace : run.trace.processes) {
    if (!trace.process.used_cuda) continue;
    if (trace.process.end == ProcessEnd::running)
      notices.push_back(
          {"process-ended",
           stage + ": " + process_name(trace) +
               " did not exit normally (it was killed, or ended without exit); what it did until then is used"});
  }
  if (run.misplaced_records > 0)
    notices.push_back({"process-ended", stage + ": " +
                                            counted(run.misplaced_records, "record of a wait or copy belongs",
                                                    "records of waits or "
                                                    "copies belong") +
                                            " to no call that was recorded; such calls count as needed"});
  judgement_notices(run.judgement, stage, notices);
}

void not_searched_notice(const Run& memory_tracing, std::vector<ReportNotice>& notices) {
  uint64_t copies = 0;
  for (const ProcessTrace& process : memory_tracing.trace.processes) copies += not_searched(process);
  if (copies > 0)
    notices.push_back(
        {"kernel-arguments",
         counted(copies, "copy to the device was", "copies to the device were") +
             " too large to be searched for addresses of pinned memory; if a kernel takes such an address from "
             "them, keep the waits for that kernel"});
}

// Runs of which the same is to be said are said together.
void output_notices(const Session& session, std::vector<ReportNotice>& notices) {
  std::vector<std::pair<std::string, std::string>> said;  // difference, runs
  for (const StageRun& run : session.runs) {
    if (!run.output_differs()) continue;
    auto same = std::find_if(said.begin(), said.end(),
                             [&](const auto& one) { return one.first == run.output_difference; });
    if (same == said.end())
      said.emplace_back(run.output_difference, run.name);
    else
      same->second += ", " + run.name;
  }
  for (const auto& [difference, runs] : said)
    notices.push_back(
        {"output-differs",
         runs + ": " + difference +
             (difference.ends_with("in numbers only")
                  ? ". Printed times differ in this way; if these are results, findings may not hold for every run"
                  : "; findings may not hold for every run")});
}

// Where processors are idle, the program has its own. Times of less than 0.3 s say little: they come in hundredths.
bool machine_was_busy(const StageRun& run) {
  constexpr double kShort = 0.3, kTaken = 0.15, kFull = 0.75;
  if (run.processors <= 0 || run.runtime_s < kShort) return false;
  const double own = run.cpu_s / run.runtime_s;
  return run.others_busy >= kTaken * run.processors && own + run.others_busy >= kFull * run.processors;
}

static void busy_notice(const Session& session, std::vector<ReportNotice>& notices) {
  std::string runs;
  const StageRun* most = nullptr;
  for (const StageRun& run : session.runs) {
    if (!machine_was_busy(run)) continue;
    runs += (runs.empty() ? "" : ", ") + run.name;
    if (!most || run.others_busy > most->others_busy) most = &run;
  }
  if (!most) return;
  char taken[64];
  snprintf(taken, sizeof taken, "%.1f of %d processors", most->others_busy, most->processors);
  notices.push_back({"busy-machine", runs + ": the machine was busy: other programs used up to " + taken +
                                         ", so times are longer; measure again on a quiet machine"});
}

void session_notices(const Session& session, std::vector<ReportNotice>& notices) {
  for (const std::string& text : session.notices) notices.push_back({"session", text});
  output_notices(session, notices);
  auto say = [&](const std::string& text) {
    const auto same = [&](const ReportNotice& other) { return other.text == text; };
    if (std::none_of(notices.begin(), notices.end(), same)) notices.push_back({"session", text});
  };
  const StageRun* first = session.runs.empty() ? nullptr : &session.runs.front();
  for (const StageRun& run : session.runs) {
    if (first && run.exit_status != first->exit_status && run.state == "complete")
      say(run.name + ": the program's exit status is " + std::to_string(run.exit_status) +
          ", in the first run it was " + std::to_string(first->exit_status));
  }
  busy_notice(session, notices);
}

void unwatched_notices(const Run& memory_tracing, std::vector<ReportNotice>& notices) {
  uint64_t instances = 0, unwatched = 0;
  std::map<uint32_t, uint64_t> by_reason;
  for (const Process& process : memory_tracing.processes)
    for (const Thread& thread : process.threads)
      for (size_t i = 0; i < thread.operations.size(); ++i) {
        const Operation& operation = thread.operations[i];
        if (!operation.has(kWaited) || operation.has(kDriverThread) || operation.has(kCapturing)) continue;
        ++instances;
        uint32_t reasons = thread.evidence[i].reasons & kUnwatchedReasons;
        // One that was seen to be used is needed for that, whatever else could not be watched.
        if (reasons == 0 || (thread.evidence[i].reasons & ~kUnwatchedReasons) != 0) continue;
        ++unwatched;
        for (uint32_t bit = 1; bit != 0; bit <<= 1) by_reason[bit] += (reasons & bit) != 0;
      }
  if (unwatched == 0) return;
  std::string text;
  for (const auto& [reason, count] : by_reason)
    if (count > 0) text += (text.empty() ? "" : "; ") + grouped(count) + ": " + unwatched_sentence(reason);
  notices.push_back({"not-judged", grouped(unwatched) + " of " +
                                       counted(instances, "synchronization", "synchronizations") +
                                       " could not be watched, so they were not judged (" + text + ")"});
}

void left_out_notice(const Run& memory_tracing, double max_overhead,
                     const std::function<std::string(SiteIndex)>& name, std::vector<ReportNotice>& notices) {
  struct Occurrences {
    uint64_t all = 0, left_out = 0;
  };
  std::map<uint32_t, Occurrences> sites;
  uint64_t left_out = 0;
  for (const Process& process : memory_tracing.processes)
    for (const Thread& thread : process.threads)
      for (const Operation& operation : thread.operations) {
        Occurrences& site = sites[operation.site.value];
        ++site.all;
        site.left_out += operation.left_out;
        left_out += operation.left_out;
      }
  if (left_out == 0) return;
  std::erase_if(sites, [](const auto& site) { return site.second.left_out == 0; });
  std::vector<std::pair<uint32_t, Occurrences>> order(sites.begin(), sites.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& one, const auto& other) {
    return one.second.left_out > other.second.left_out;
  });
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < order.size() && i < kShown; ++i)
    text += (i > 0 ? ", " : "") + grouped(order[i].second.all - order[i].second.left_out) + " of " +
            grouped(order[i].second.all) + " of " + name(SiteIndex{order[i].first});
  if (order.size() > kShown) text += " and " + counted(order.size() - kShown, "place", "places") + " more";
  char factor[32];
  snprintf(factor, sizeof factor, "%g", max_overhead);
  notices.push_back({"sampled", "memory-tracing: --max-overhead " + std::string(factor) +
                                    " was reached, and later calls were not judged (judged were " + text +
                                    "); a larger --max-overhead judges more"});
}

void join_notices(const JoinResult& join, const std::string& stage, std::vector<ReportNotice>& notices) {
  if (join.unmatched == 0 && join.extra == 0) return;
  notices.push_back({"runs-differ", "the runs differ: " + grouped(join.unmatched) + " of " +
                                        counted(join.matched + join.unmatched, "call", "calls") +
                                        " of the tracing run are not in the " + stage + " run, and " +
                                        grouped(join.extra) +
                                        " of that run are not in the tracing run; they were not judged"});
}

void python_notice(const Run& tracing, std::vector<ReportNotice>& notices) {
  uint64_t unreadable = 0;
  for (const ProcessTrace& trace : tracing.trace.processes) {
    const PythonSummary& python = trace.process.python;
    unreadable += python.unreadable;
    const char* why = nullptr;
    if (python.state == static_cast<uint32_t>(PythonState::unknown_version))
      why = "this version is not supported (3.8 to 3.15 are)";
    if (python.state == static_cast<uint32_t>(PythonState::several))
      why = "two interpreters run in one process";
    if (python.state == static_cast<uint32_t>(PythonState::unlike))
      why = "the interpreter's memory is not laid out as that of its version";
    if (!why) continue;
    std::string version;
    if (python.version != 0)
      version =
          " " + std::to_string(python.version >> 24) + "." + std::to_string(python.version >> 16 & 0xff);
    notices.push_back({"python", "Python" + version + ": stacks show no lines of Python, because " + why});
    return;
  }
  if (unreadable > 0)
    notices.push_back({"python", "Python: " + counted(unreadable, "stack shows", "stacks show") +
                                     " no lines of Python, because its frames could not be read there"});
}

void gpu_times_notices(const Run& run, const GpuTimesFound& found, std::vector<ReportNotice>& notices) {
  const std::string without = "; the expected benefits are estimated from the waits instead";
  bool refused = false, taken = false;
  std::string refusal;
  for (const ProcessTrace& trace : run.trace.processes) {
    if (trace.process.gpu_times == GpuTimesState::refused && !refused)
      refusal = trace.process.gpu_times_refusal;
    refused |= trace.process.gpu_times == GpuTimesState::refused;
    taken |= trace.process.gpu_times == GpuTimesState::taken;
  }
  if (refused && !taken)
    notices.push_back({"gpu-times", "GPU times: they could not be measured" +
                                        (refusal.empty() ? std::string() : " (" + refusal + ")") + without});
  else if (found.known == 0)
    notices.push_back({"gpu-times", "GPU times: none were recorded" + without});
  else if (20 * found.unknown > found.known)
    notices.push_back({"gpu-times", "GPU times: " + grouped(found.unknown) + " of " +
                                        counted(found.known + found.unknown, "piece", "pieces") +
                                        " of GPU work have no measured time"});
}

void first_use_join_notice(const JoinResult& join, std::vector<ReportNotice>& notices) {
  if (join.unmatched == 0 && join.extra == 0) return;
  notices.push_back(
      {"runs-differ",
       "the runs differ: " + grouped(join.unmatched) + " of " +
           counted(join.matched + join.unmatched, "call", "calls") +
           " of the tracing run are not in the sync-use run, and " + grouped(join.extra) +
           " are only there; for these, the time to the first use is the median of their place"});
}

void mismatch_notice(double mismatch, std::vector<ReportNotice>& notices) {
  constexpr double kTolerated = 0.01;  // of the run time: so much a right estimate may miss
  if (mismatch <= kTolerated) return;
  char share[32];
  snprintf(share, sizeof share, "%.1f%%", 100 * mismatch);
  notices.push_back({"model-mismatch", "the model reproduces the measured run time only to within " +
                                           std::string(share) +
                                           ", so the ranges are wider; try --repeat 3 on a quiet machine"});
}

void problem_notices(const Problems& problems, const EventGraph& graph, double threshold_percent, Model model,
                     std::vector<ReportNotice>& notices) {
  char threshold[32];
  snprintf(threshold, sizeof threshold, "%g%%", threshold_percent);
  if (problems.minor_sites > 0)
    notices.push_back(
        {"minor", counted(problems.minor_instances, "wait", "waits") + " inside other calls at " +
                      counted(problems.minor_sites, "place", "places") +
                      (problems.minor_instances == 1 ? " was" : " were") +
                      " unnecessary too; they are not listed, because each place waits and gains "
                      "less than " +
                      threshold + " of the time in which the GPU is used"});
  if (problems.minor_transfer_sites > 0)
    notices.push_back(
        {"minor",
         counted(problems.minor_transfers, "transfer", "transfers") + " at " +
             counted(problems.minor_transfer_sites, "place", "places") +
             " could be avoided or made cheaper, too; they are not listed, because each place gains less than " +
             threshold + " of the time in which the GPU is used"});
  if (problems.minor_allocation_sites > 0)
    notices.push_back(
        {"minor",
         "allocations at " + counted(problems.minor_allocation_sites, "place", "places") +
             " are repeated or never used; they are not listed, because each place gains less than " +
             threshold + " of the time in which the GPU is used"});
  if (problems.gains_nothing > 0)
    notices.push_back(
        {"minor", counted(problems.gains_nothing, "call", "calls") +
                      " could be avoided, too; they are not listed, because that gains nothing"});
  if (problems.unsure_moves > 0)
    notices.push_back(
        {"unsure",
         "synchronizations at " + counted(problems.unsure_moves, "place", "places") +
             " come a little before their first use; what moving them gains is too small to be sure of, "
             "and they are not listed"});
  if (problems.rarely_unnecessary_sites > 0)
    notices.push_back({"rarely-unnecessary",
                       "at " + counted(problems.rarely_unnecessary_sites, "place", "places") +
                           " fewer than half of the synchronizations were unnecessary; they are not listed"});
  if (problems.first_uses_from_stage_3 > 0)
    notices.push_back(
        {"first-uses-from-stage-3",
         "the time to the first use of " +
             counted(problems.first_uses_from_stage_3, "early wait", "early waits") +
             " is from the memory-tracing run, whose overhead makes it longer: the calls around them were not found in "
             "the tracing run"});
  if (model == Model::replay) return;  // it has the threads wait for each other as they did
  std::set<uint32_t> threads;
  std::set<uint32_t> processes;
  for (const Problem& problem : problems.found)
    for (const Change& change : problem.changes) {
      threads.insert(change.thread);
      processes.insert(graph.origin[change.thread].first);
    }
  if (threads.size() < 2) return;
  std::string where = processes.size() > 1 ? counted(threads.size(), "thread", "threads") + " of " +
                                                 counted(processes.size(), "process", "processes")
                                           : counted(threads.size(), "thread", "threads");
  notices.push_back(
      {"summed-over-threads",
       "benefits are summed over " + where +
           "; the run gets shorter by as much only where they wait for each other in turn, and by less where they "
           "run side by side"});
}

}  // namespace diogenes
