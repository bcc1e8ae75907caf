// Needed synchronizations that cost most. Removing them as they are would be wrong; the program would have to ask for
// their results less often, later, or not on the CPU. In: the joined run of stage 2, what stage 3 says of each site,
// the problems. Out: sites by what the program would gain at most if it did not ask for these results: the same model,
// run without these waits, their calls, and the copies to the host since the thread's wait before.
#pragma once
#include <map>

#include "analysis/findings/problems.h"

namespace diogenes {

// Of the copies to the host at one site: how many there were, and how many of them brought the bytes that came most
// often.
struct BroughtValues {
  uint64_t all = 0, same = 0;
};
// By site. `memory_tracing`: while it has its operations.
std::vector<BroughtValues> brought_values(const Run& memory_tracing, const SiteTable& sites);

struct Required {
  SiteIndex site;
  uint64_t count = 0;       // needed waits that no problem changes, or only moves and gains little by it
  uint64_t not_judged = 0;  // of `count`: they count as needed, because nobody saw whether they were
  uint64_t instances = 0;   // all waits of the site
  Nanoseconds waited, call;
  Figure up_to;                          // the run would be shorter by
  std::optional<Nanoseconds> after;      // median time to the first use; none: unknown
  std::map<uint32_t, uint64_t> threads;  // how many of `count`, by thread of the graph
  std::map<uint32_t, uint64_t> reasons;  // how many of `count` have a reason, by its bit (Reason)
  std::vector<std::pair<StackPlace, uint64_t>> uses;  // where the result is used first, most frequent first
};

// Those of sites that wait for `least` or longer in all, the largest gain first. `most`: each is one more replay.
std::vector<Required> find_required(const ProblemInput& input, const std::vector<Problem>& problems,
                                    Nanoseconds least, size_t most);

}  // namespace diogenes
