#include "views/shared/occurrences.h"

#include <algorithm>

#include "views/shared/figures.h"

namespace diogenes {
namespace {

constexpr size_t kNamed = 4;  // processes or threads; of the rest the number is said

bool chosen(const ReportProcess& process, const ProcessChoice& choice) {
  return (!choice.rank || process.rank == choice.rank) && (!choice.pid || process.pid == *choice.pid);
}

std::string name_of(const ReportProcess& process) {
  return process.rank ? "rank " + std::to_string(*process.rank) : "process " + std::to_string(process.pid);
}

std::string threads_text(const ReportOccurrence& one) {
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, one.threads.size()); ++i) {
    const ReportOccurrence::Thread& thread = one.threads[i];
    text += (i > 0 ? ", " : "") +
            (thread.main ? std::string("main thread") : "thread " + std::to_string(thread.ordinal)) + ": " +
            counted(thread.count, "time");
  }
  if (one.thread_count > kNamed) text += " and in " + counted(one.thread_count - kNamed, "more thread");
  return text;
}

}  // namespace

Status check_choice(const Report& report, const ProcessChoice& choice) {
  std::vector<int> ranks, pids;
  for (const ReportProcess& process : report.processes) {
    if (chosen(process, choice)) return Done{};
    if (process.rank) ranks.push_back(*process.rank);
    pids.push_back(process.pid);
  }
  if (choice.all()) return Done{};
  std::string there;
  std::vector<int>& numbers = choice.rank ? ranks : pids;
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < numbers.size() && i < 8; ++i)
    there += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
  if (numbers.size() > 8) there += ", ... " + std::to_string(numbers.back());
  if (choice.rank)
    return there.empty() ? error("--rank: the processes of this session have no ranks")
                         : error("--rank: no process of this session has rank %d; there are %s", *choice.rank,
                                 there.c_str());
  return error("--process: the tracing run has no process %d; there are %s", *choice.pid, there.c_str());
}

uint64_t count_in(const std::vector<ReportProcess>& processes,
                  const std::vector<ReportOccurrence>& occurrences, const ProcessChoice& choice) {
  uint64_t count = 0;
  for (const ReportOccurrence& one : occurrences)
    if (one.process < processes.size() && chosen(processes[one.process], choice)) count += one.count;
  return count;
}

std::string occurrences_text(const std::vector<ReportProcess>& processes,
                             const std::vector<ReportOccurrence>& occurrences) {
  if (occurrences.empty()) return "";
  const ReportOccurrence& first = occurrences.front();
  if (processes.size() < 2) {
    const bool only_main = first.thread_count == 1 && !first.threads.empty() && first.threads[0].main;
    return only_main ? "" : threads_text(first);
  }
  const bool alike = std::all_of(occurrences.begin(), occurrences.end(),
                                 [&](const ReportOccurrence& one) { return one.count == first.count; });
  const bool ranked = std::all_of(processes.begin(), processes.end(),
                                  [](const ReportProcess& process) { return process.rank.has_value(); });
  if (alike && occurrences.size() == processes.size())
    return "all " + std::to_string(processes.size()) + (ranked ? " ranks, " : " processes, ") +
           counted(first.count, "time") + " each";
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, occurrences.size()); ++i) {
    const ReportOccurrence& one = occurrences[i];
    if (one.process >= processes.size()) continue;
    text += (i > 0 ? ", " : "") + name_of(processes[one.process]) + ": " + counted(one.count, "time");
    if (one.thread_count > 1) text += " in " + counted(one.thread_count, "thread");
  }
  if (occurrences.size() > kNamed) text += " and in " + std::to_string(occurrences.size() - kNamed) + " more";
  return text;
}

}  // namespace diogenes
