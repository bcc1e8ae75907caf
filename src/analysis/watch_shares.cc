#include "analysis/watch_shares.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/join.h"
#include "ffm/plan.h"
#include "trace/session.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

bool only_unwatched(uint32_t reasons) {
  return (reasons & kSmallRange) != 0 && (reasons & ~uint32_t{kSmallRange | kOtherThread}) == 0;
}

// That says only who uses a result, and not why anybody needs it.
bool only_other_thread(uint32_t reasons) { return reasons == kOtherThread; }

// The work that each thread gave, as sites. Threads come in no order that every run has.
using GivenWork = std::map<std::string, std::vector<std::vector<uint32_t>>>;

GivenWork work_of(const Run& run, const SiteTable& sites) {
  GivenWork result;
  for (const Process& process : run.processes) {
    auto& threads = result[process.identity];
    for (const Thread& thread : process.threads) {
      std::vector<uint32_t> given;
      for (const Operation& operation : thread.operations) {
        const DriverFunction* function = function_of(sites[operation.site]);
        if (!function || operation.has(kDriverThread)) continue;
        if (function->role == Role::transfer || function->role == Role::fill ||
            function->role == Role::launch || function->role == Role::graph)
          given.push_back(operation.site.value);
      }
      if (!given.empty()) threads.push_back(std::move(given));
    }
    std::sort(threads.begin(), threads.end());
  }
  return result;
}

// What the shares of one round say together of each instance.
struct Found {
  uint32_t shares = 0;  // that have the instance
  uint32_t reasons = 0;
  uint8_t conditions = 0;
};
using Round = std::unordered_map<const Operation*, Found>;

// False: the round is not whole.
bool load_round(Run& first, const GivenWork& work, uint8_t round, const fs::path& session, SiteTable& sites,
                JudgeProcess judge, Round& found) {
  for (uint8_t share = 0; share < kWatchShares; ++share) {
    const fs::path folder = session / run_name(Stage::memory_tracing, watch_run(round, share));
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) return false;
    auto run = load_run(folder, sites, Load::evidence, judge);
    if (!run || work_of(*run, sites) != work) return false;
    join_operations(first, *run, sites,
                    [&](Operation* operation, const Process&, const Thread& thread, uint32_t index) {
                      const Evidence& evidence = thread.evidence[index];
                      if (!operation || !evidence.judged) return;
                      Found& sum = found[operation];
                      ++sum.shares;
                      sum.reasons |= evidence.reasons;
                      sum.conditions |= evidence.conditions;
                    });
  }
  return true;
}

void add_round(Run& first, const Round& round) {
  for (Process& process : first.processes)
    for (Thread& thread : process.threads)
      for (size_t i = 0; i < thread.operations.size(); ++i) {
        Evidence& evidence = thread.evidence[i];
        const auto found = round.find(&thread.operations[i]);
        if (!evidence.judged || found == round.end()) continue;
        const bool open = (evidence.reasons & kSmallRange) != 0;
        const bool closes = found->second.shares == kWatchShares && !(found->second.reasons & kSmallRange);
        uint32_t reasons = evidence.reasons;
        if (open && closes) reasons &= ~uint32_t{kSmallRange};
        if (only_other_thread(reasons)) reasons = 0;
        // What this round could not watch was watched before, or is still open.
        uint32_t more = found->second.reasons & ~uint32_t{kSmallRange};
        if (only_other_thread(more)) more = 0;
        // When the first use comes no single run has seen.
        if ((more & ~reasons) != 0) evidence.after_ns = -1, evidence.use_stack = kNoStack;
        evidence.reasons = reasons | more;
        evidence.conditions |= found->second.conditions;
      }
}

}  // namespace

Result<Run> load_memory_tracing(const fs::path& session, SiteTable& sites, JudgeProcess judge) {
  auto first = load_run(session / run_name(Stage::memory_tracing, 1), sites, Load::evidence, judge);
  if (!first) return first;
  std::optional<GivenWork> work;
  for (uint8_t round = 0; round < kWatchRounds; ++round) {
    std::error_code failed;
    if (!fs::is_directory(session / run_name(Stage::memory_tracing, watch_run(round, 0)), failed)) break;
    if (!work) work = work_of(*first, sites);
    Round found;
    if (load_round(*first, *work, round, session, sites, judge, found)) add_round(*first, found);
  }
  return first;
}

uint64_t count_unwatched(const fs::path& session) {
  SiteTable sites;
  auto run = load_memory_tracing(session, sites);
  if (!run) return 0;
  uint64_t count = 0;
  for (const Process& process : run->processes)
    for (const Thread& thread : process.threads)
      for (const Evidence& evidence : thread.evidence)
        count += evidence.judged && only_unwatched(evidence.reasons);
  return count;
}

}  // namespace diogenes
