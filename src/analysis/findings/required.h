// Needed waits that cost most. Removing them as they are would be wrong; the program would have to ask for their results less
// often, later, or not on the CPU. In: the joined run of stage 2, what stage 3 says of each site, the problems. Out: lines of
// the application, each with what the program would gain at most if it did not ask for these results: the same model, run
// without the line's waits, their calls, and the copies to the host that they wait for.
//
// What is gained is counted beyond what fixing the problems gains: a needed wait may find nothing today because a needless one
// before it took the time over. So a wait counts however short it was. A loop of queries is one wait.
//
// A line like `if (loss.isnan())` of Python gives the GPU work only to look at its result. What it gives right before the wait,
// with the CPU time between these calls, is in the upper end of the range: the line may use the results for something else.
#pragma once
#include <functional>
#include <map>

#include "analysis/findings/problems.h"
#include "analysis/symbols/frame_owner.h"

namespace diogenes {

// Of the copies to the host at one site: how many there were, and how many of them brought the bytes that came most
// often.
struct BroughtValues {
  uint64_t all = 0, same = 0;
};
// By site. `memory_tracing`: while it has its operations.
std::vector<BroughtValues> brought_values(const Run& memory_tracing, const SiteTable& sites);

struct RequiredCall {
  SiteIndex site;
  uint64_t count = 0;
  bool waits = false;  // else it brings what is waited for
};

struct Required {
  SiteIndex site;                   // the wait that is made most often
  std::vector<RequiredCall> calls;  // of the line, and the copies: waits first, the most frequent first
  uint64_t count = 0;               // needed waits
  uint64_t not_judged = 0;          // of `count`: they count as needed, because nobody saw whether they were
  uint64_t instances = 0;           // all waits of these sites
  uint64_t queries = 0;   // of those of `count` that are loops of queries (polls.h): they have no reason
  uint64_t launches = 0;  // made at the line right before its waits: likely for their results alone
  uint64_t in_a_row =
      0;          // of `count`: since the line's wait before, the thread made calls of that line alone
  Bytes brought;  // by the copies of `calls`
  Nanoseconds waited, call;  // of `calls`
  Figure up_to;  // the run would be shorter by, once the problems are fixed; at most if `launches` went, too
  std::optional<Nanoseconds> after;      // median time to the first use; none: unknown
  std::map<uint32_t, uint64_t> threads;  // how many of `count`, by thread of the graph
  std::map<uint32_t, uint64_t> reasons;  // how many of `count` have a reason, by its bit (Reason)
  std::vector<std::pair<StackPlace, uint64_t>> uses;  // where the result is used first, most frequent first
};

struct RequiredWaits {
  std::vector<Required> found;  // largest gain first
  Figure together;              // of all of them
};

// Where a site's calls belong to; none: they are alone.
using PlaceOf = std::function<std::optional<ActingPlace>(SiteIndex)>;
// Is a call made at the line that makes a wait (made_at_line_of)?
using MadeAtLineOf = std::function<bool(SiteIndex call, SiteIndex wait)>;
struct Lines {
  PlaceOf place_of;
  MadeAtLineOf made_at_line_of;
};

// Those that gain `least` or more. `most`: lines that are looked at; each is one more replay.
RequiredWaits find_required(const ProblemInput& input, const std::vector<Problem>& problems,
                            const Lines& lines, Nanoseconds least, size_t most);

}  // namespace diogenes
