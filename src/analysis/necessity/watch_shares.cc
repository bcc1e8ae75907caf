#include "analysis/necessity/watch_shares.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/runs/join.h"
#include "ffm/plan.h"
#include "trace/session.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

bool only_unwatched(uint32_t reasons) {
  return (reasons & kSmallRange) != 0 && (reasons & ~uint32_t{kSmallRange | kOtherThread}) == 0;
}

// The work that each thread gave: its sites, and which parts of small results it was given. Threads come in
// no order that every run has.
using WorkOfThreads = std::map<std::string, std::vector<std::vector<std::pair<uint32_t, uint32_t>>>>;

WorkOfThreads work_of(const Run& run) {
  WorkOfThreads result;
  for (const Process& process : run.processes) {
    auto& threads = result[process.identity];
    for (const Thread& thread : process.threads) {
      std::vector<std::pair<uint32_t, uint32_t>> given;
      const ThreadTrace* trace = nullptr;
      for (const ThreadTrace& one : process.trace->threads)
        if (one.ordinal() == thread.ordinal) trace = &one;
      size_t next = 0;  // operation
      for (size_t i = 0; trace && i < trace->record_count(); ++i) {
        if (trace->type(i) == RecordType::operation) ++next;
        if (trace->type(i) != RecordType::call || next == 0 || next > thread.operations.size()) continue;
        const auto& call = trace->record<CallRecord>(i);
        const Operation& operation = thread.operations[next - 1];
        if (!(call.flags & kGivesWork) && call.small_parts == 0) continue;
        if (operation.has(kDriverThread)) continue;
        given.emplace_back(operation.site.value, call.small_parts);
      }
      if (!given.empty()) threads.push_back(std::move(given));
    }
    std::sort(threads.begin(), threads.end());
  }
  return result;
}

// What the shares say together of each instance of the first run.
struct Found {
  uint32_t shares = 0;  // that have the instance
  uint32_t reasons = 0;
  uint8_t conditions = 0;
};
using AllFound = std::unordered_map<const Operation*, Found>;

// False: they do not fit together.
bool load_shares(Run& first, const fs::path& session, SiteTable& sites, JudgeProcess by_hand,
                 AllFound& found) {
  std::optional<WorkOfThreads> work;
  for (uint8_t share = 0; share < kWatchShares; ++share) {
    const fs::path folder = session / run_name(Stage::memory_tracing, watch_run(share));
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) return false;
    auto run = load_judged_run(folder, sites, {.by_hand = by_hand});
    if (!run) return false;
    WorkOfThreads given = work_of(*run);
    if (work && given != *work) return false;
    work = std::move(given);
    bool fits = true;
    join_operations(first, *run, sites,
                    [&](Operation* operation, const Process&, const Thread& thread, uint32_t index) {
                      const Evidence& evidence = thread.evidence[index];
                      if (!evidence.judged) return;
                      // Needed, and nothing in the first run could be told so.
                      fits &= operation || evidence.reasons == 0;
                      if (!operation) return;
                      Found& sum = found[operation];
                      ++sum.shares;
                      sum.reasons |= evidence.reasons;
                      sum.conditions |= evidence.conditions;
                    });
    if (!fits) return false;
  }
  return true;
}

template <typename Visit>
void each_judged(Run& run, Visit visit) {
  for (Process& process : run.processes)
    for (Thread& thread : process.threads)
      for (size_t i = 0; i < thread.evidence.size(); ++i)
        if (thread.evidence[i].judged) visit(thread.operations[i], thread.evidence[i]);
}

// An instance that not all shares have judged keeps what the first run says of it, too.
uint32_t reasons_together(const Evidence& evidence, const Found& sum) {
  return sum.shares < kWatchShares ? sum.reasons | evidence.reasons : sum.reasons;
}

bool leave_fewer_open(Run& first, const AllFound& found) {
  int64_t fewer = 0;
  each_judged(first, [&](const Operation& operation, const Evidence& evidence) {
    const auto sum = found.find(&operation);
    if (sum == found.end()) return;
    fewer += only_unwatched(evidence.reasons);
    fewer -= only_unwatched(reasons_together(evidence, sum->second));
  });
  return fewer > 0;
}

// All of them or none: which of several waits keeps two accesses in order, each run chose for itself.
void take_over(Run& first, const AllFound& found) {
  each_judged(first, [&](const Operation& operation, Evidence& evidence) {
    const auto sum = found.find(&operation);
    if (sum == found.end()) return;  // it stays as the first run has it
    const uint32_t reasons = reasons_together(evidence, sum->second);
    // When its first use comes no single run has seen.
    if (reasons != evidence.reasons) evidence.after_ns = -1, evidence.use_stack = kNoStack;
    evidence.reasons = reasons;
    evidence.conditions |= sum->second.conditions;
  });
}

}  // namespace

Result<Run> load_memory_tracing(const fs::path& session, SiteTable& sites, const JudgeOptions& options) {
  std::error_code failed;
  const bool shared = fs::is_directory(session / run_name(Stage::memory_tracing, watch_run(0)), failed);
  JudgeOptions of_first = options;
  if (shared) of_first.check = necessity::Check::first;
  auto first = load_judged_run(session / run_name(Stage::memory_tracing, 1), sites, of_first);
  if (!first || !shared) return first;
  AllFound found;
  if (load_shares(*first, session, sites, options.by_hand, found) && leave_fewer_open(*first, found))
    take_over(*first, found);
  return first;
}

uint64_t count_unwatched(const fs::path& session) {
  SiteTable sites;
  auto run = load_memory_tracing(session, sites);
  uint64_t count = 0;
  if (run)
    each_judged(
        *run, [&](const Operation&, const Evidence& evidence) { count += only_unwatched(evidence.reasons); });
  return count;
}

}  // namespace diogenes
