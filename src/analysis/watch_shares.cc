#include "analysis/watch_shares.h"

#include <algorithm>
#include <map>
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

struct Found {
  uint32_t shares = 0;  // that have the instance
  uint32_t reasons = 0;
  uint8_t conditions = 0;
};

}  // namespace

uint64_t count_unwatched(const Run& run) {
  uint64_t count = 0;
  for (const Process& process : run.processes)
    for (const Thread& thread : process.threads)
      for (const Evidence& evidence : thread.evidence)
        count += evidence.judged && only_unwatched(evidence.reasons);
  return count;
}

uint64_t count_unwatched(const fs::path& session) {
  SiteTable sites;
  auto run = load_run(session / run_name(Stage::memory_tracing, 1), sites, Load::evidence);
  return run ? count_unwatched(*run) : 0;
}

void join_watch_shares(Run& first, const fs::path& session, SiteTable& sites) {
  std::error_code failed;
  auto folder_of = [&](uint32_t share) {
    return session / run_name(Stage::memory_tracing, static_cast<int>(share) + 2);
  };
  if (!fs::is_directory(folder_of(0), failed)) return;
  const GivenWork work = work_of(first, sites);
  std::unordered_map<const Operation*, Found> found;
  for (uint32_t share = 0; share < kWatchShares; ++share) {
    auto run = load_run(folder_of(share), sites, Load::evidence);
    if (!run || work_of(*run, sites) != work) return;
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
  for (Process& process : first.processes)
    for (Thread& thread : process.threads)
      for (size_t i = 0; i < thread.operations.size(); ++i) {
        Evidence& evidence = thread.evidence[i];
        const auto sum = found.find(&thread.operations[i]);
        if (!evidence.judged || sum == found.end()) continue;
        const bool open = only_unwatched(evidence.reasons);
        if (open && sum->second.shares < kWatchShares) continue;
        if (open) evidence.reasons = 0;
        // When its first use comes no single run has seen.
        if (sum->second.reasons & ~evidence.reasons) evidence.after_ns = -1, evidence.use_stack = kNoStack;
        evidence.reasons |= sum->second.reasons;
        evidence.conditions |= sum->second.conditions;
      }
}

}  // namespace diogenes
