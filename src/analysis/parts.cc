#include "analysis/parts.h"

#include <algorithm>
#include <set>

#include "analysis/join.h"
#include "ffm/plan.h"
#include "trace/session.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kOpen = kNotThisRun | kInParts;
// What further runs find out: uses, and what became of their guards. The rest the first run knew, which saw
// more.
constexpr uint32_t kOfGuards =
    kMovableReasons | kSmallRange | kExposed | kGuardRefused | kDriverAccess | kOpen;
static_assert(in_parts(kMostParts) == (kInParts & ~(kInParts >> 1)));

// What the runs together know of one instance that hangs on small ranges.
struct Watched {
  uint32_t reasons = 0;
  uint32_t runs[kMostParts + 1] = {};  // by parts: bits, of the runs that watched all ranges of so many

  void add(uint32_t run, uint32_t found) {
    reasons |= found & ~kNotThisRun;  // all of these: the run did not look at it
    if (found & kUnresolved) return;
    for (uint32_t parts = 1; parts <= kMostParts; ++parts)
      if (!(found & not_this_run(parts))) runs[parts] |= 1u << run;
  }
  bool whole() const {
    for (uint32_t parts = 1; parts <= kMostParts; ++parts) {
      if (!(reasons & in_parts(parts))) continue;
      for (uint32_t part = 0; part < parts; ++part) {
        bool seen = false;
        for (uint32_t run = part; run < kWatchRuns; run += parts) seen |= (runs[parts] & 1u << run) != 0;
        if (!seen) return false;
      }
    }
    return true;
  }
};

class Joined {
 public:
  Joined(Run& first, const SiteTable& sites) : first_(first), sites_(sites) {
    for_each_open([&](const Operation& operation, const Evidence& evidence) {
      watched_[&operation].add(0, evidence.reasons);
    });
  }

  void add(const Run& other, uint32_t run) {
    join_operations(first_, other, sites_,
                    [&](Operation* operation, const Process&, const Thread& thread, uint32_t index) {
                      const Evidence& evidence = thread.evidence[index];
                      if (!operation || !evidence.judged) return;
                      // A use that the first run did not see, where it saw everything: the two differ.
                      auto found = watched_.find(operation);
                      if (found == watched_.end())
                        differing_[operation] |= evidence.reasons & kMovableReasons;
                      else
                        found->second.add(run, thread.operations[index].has(kFailed)
                                                   ? uint32_t{kUnresolved}
                                                   : evidence.reasons & (kOfGuards | kUnresolved));
                    });
  }

  // Not needed as far as is known, and not watched whole.
  std::set<SiteKey> hanging() const {
    std::set<SiteKey> result;
    for (const auto& [operation, watched] : watched_)
      if (!(watched.reasons & ~(kOpen | kUnresolved)) && !watched.whole())
        result.insert(sites_[operation->site].key);
    return result;
  }

  void finish() {
    for_each_open([&](const Operation& operation, Evidence& evidence) {
      const Watched& watched = watched_.at(&operation);
      evidence.reasons = watched.reasons & ~(kOpen | kUnresolved);
      const bool in_more_than_one = (watched.reasons & kInParts & ~in_parts(1)) != 0;
      if (!watched.whole() || (evidence.reasons != 0 && in_more_than_one)) evidence.reasons |= kSmallRange;
    });
    for (Process& process : first_.processes)
      for (Thread& thread : process.threads)
        for (size_t i = 0; i < thread.operations.size(); ++i)
          if (auto found = differing_.find(&thread.operations[i]); found != differing_.end())
            thread.evidence[i].reasons |= found->second;
  }

 private:
  template <typename Visit>
  void for_each_open(Visit visit) {
    for (Process& process : first_.processes)
      for (Thread& thread : process.threads)
        for (size_t i = 0; i < thread.operations.size(); ++i)
          if (thread.evidence[i].judged && (thread.evidence[i].reasons & kOpen))
            visit(thread.operations[i], thread.evidence[i]);
  }

  Run& first_;
  const SiteTable& sites_;
  std::unordered_map<const Operation*, Watched> watched_;
  std::unordered_map<const Operation*, uint32_t> differing_;
};

// Calls `use` with the first run and what all of them together know.
template <typename Use>
Result<Run> with_all_runs(const fs::path& session, SiteTable& sites, Use use) {
  auto first = load_run(session / run_name(Stage::memory_tracing, 1), sites, Load::evidence);
  if (!first) return first;
  Joined joined(*first, sites);
  for (uint32_t run = 1; run < kWatchRuns; ++run) {
    const fs::path folder = session / run_name(Stage::memory_tracing, static_cast<int>(run) + 1);
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) break;
    if (auto other = load_run(folder, sites, Load::evidence)) joined.add(*other, run);
  }
  use(joined);
  return first;
}

}  // namespace

Result<Run> load_memory_tracing(const fs::path& session, SiteTable& sites) {
  return with_all_runs(session, sites, [](Joined& joined) { joined.finish(); });
}

Result<std::vector<SiteKey>> sites_to_watch(const fs::path& session) {
  SiteTable sites;
  std::set<SiteKey> hanging;
  auto run = with_all_runs(session, sites, [&](const Joined& joined) { hanging = joined.hanging(); });
  if (!run) return run.error();
  return std::vector<SiteKey>(hanging.begin(), hanging.end());
}

}  // namespace diogenes
