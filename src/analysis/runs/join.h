// Joins runs: what stages 3 and 4 found out about an instance goes to the same instance of stage 2.
// Two instances are the same when they are the same occurrence of the same site, in the same process (by
// rank, executable and order of start) and in the same thread (by the order in which the threads that have this site
// were made, the main thread first; which of them calls the driver first is a race). So neither addresses nor thread
// ids nor the operations between them matter: each stage hooks different ones. What does not match stays unknown,
// which counts as needed, and is counted.
#pragma once
#include <functional>

#include "analysis/runs/run.h"

namespace diogenes {

// Counted are synchronizations and transfers; other calls are hooked in some stages only.
struct JoinResult {
  uint64_t matched = 0;    // instances of stage 2 with a counterpart
  uint64_t unmatched = 0;  // without one
  uint64_t extra = 0;      // instances of the other run without one in stage 2
};

// For every instance of `other`: its counterpart in `tracing` or null, its process, thread and position
// there.
using PairVisitor = std::function<void(Operation*, const Process&, const Thread&, uint32_t)>;
JoinResult join_operations(Run& tracing, const Run& other, const SiteTable& sites, const PairVisitor& pair);

// The same time in both stages.
struct TimeInBoth {
  Nanoseconds tracing, memory_tracing;
};

// What the run of stage 3 says of a whole site, instances without a counterpart included.
struct SiteVerdicts {
  uint64_t instances = 0, judged = 0, unnecessary = 0, movable = 0;
  uint64_t threads = 0;           // that have the site
  uint64_t unmatched_needed = 0;  // needed, without a counterpart in stage 2
  TimeInBoth gaps;                // around the first uses that have a place in both (first_uses.h)
  uint64_t idle_needed = 0, idle_movable = 0;  // needed, and the counterpart did not wait
  // Of copies that could go to another stream (Evidence::like): the call that gave that one work is of this site, and the how
  // manieth of it counted back from the copy.
  SiteIndex like;
  uint32_t like_back = 0;
  std::vector<std::pair<StackPlace, uint64_t>> uses;  // places of first use, most frequent first
  std::vector<std::pair<StackPlace, uint64_t>>
      duplicates;                                     // where the content was sent first, most frequent first
  std::vector<std::pair<StackPlace, uint64_t>> lost;  // what overwrote or released unused data, likewise
};

// The call before the one at `position` that gave work to the stream where this copy could be (SiteVerdicts::like); UINT32_MAX:
// none.
uint32_t like_of(const std::vector<Operation>& operations, uint32_t position, const SiteVerdicts& site);

// Findings that name an earlier transfer of the same content.
inline bool repeats(Duplicate duplicate) {
  return duplicate == Duplicate::verified || duplicate >= Duplicate::elsewhere;
}

// Copies reasons, duplicates and (until stage 4's are joined) times to first use from `memory_tracing` to
// `tracing`; those times as they would have been there, where the place of the use is known (first_uses.h),
// else as they were recorded. `verdicts`: by site.
JoinResult join_verdicts(Run& tracing, const Run& memory_tracing, const SiteTable& sites,
                         std::vector<SiteVerdicts>& verdicts);

struct SiteFirstUses {
  std::vector<int64_t> after_ns;                      // ascending, as the run recorded them
  std::vector<std::pair<StackPlace, uint64_t>> uses;  // most frequent first
};

// Copies times to first use from `sync_use`, likewise. Instances of a site that stage 4 watched, but without
// a counterpart there, get the site's median; those of other sites keep stage 3's. `first_uses`: by site.
JoinResult join_first_uses(Run& tracing, const Run& sync_use, const SiteTable& sites,
                           std::vector<SiteFirstUses>& first_uses);

}  // namespace diogenes
