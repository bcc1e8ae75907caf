// Test support: a trace is cut into windows at random places, judged by what they show, and what they call needless is removed
// from the whole trace, which the exhaustive oracle and the check look at.
// In: a whole trace. Out: counts, and the first cut that is not sound.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/necessity/testing/literal_timeline.h"
#include "analysis/necessity/windows/judge_windows.h"

namespace diogenes::necessity::testing {

struct CutOptions {
  size_t cuts = 20;
  size_t windows = 1;     // of each cut, one behind the other
  bool together = false;  // what all cuts call needless is chosen, checked and removed together, too
  WindowRules rules;
};

struct CutCounts {
  uint64_t traces = 0, cuts = 0;
  // Waits that the judge of the whole trace calls needless, once for each cut that shows it; those that the cut calls so, too.
  uint64_t shown = 0, found = 0;
  // The same by wait: shown by some cut, and called needless by some cut.
  uint64_t shown_by_any = 0, found_by_any = 0;
  uint64_t found_together = 0;  // CutOptions::together
  uint64_t withdrawn = 0;       // by the check of a cut alone
  uint64_t broken = 0;          // cuts that are not sound
  std::string first_broken;

  std::string text() const;
};

// A trace of at most kMostEvents (exhaustive_oracle.h); a longer one is left out. `seed`: of the places.
void cut_trace(const Timeline& timeline, uint64_t seed, const CutOptions& options, CutCounts& counts);

// By synchronization of the whole trace: is it needless in the window, if that ends as a process that was killed?
std::vector<bool> needless_if_killed(const Timeline& timeline, WindowSpan window);

// The same trace, in which whoever acquires an object could not go on without its releases only if one thread alone made them.
Timeline with_senders(const Timeline& timeline);

// The same events again and again, as a program's loop makes them; it ends, orderly or not, as the trace does.
Timeline looped(const Timeline& body, uint32_t iterations);

}  // namespace diogenes::necessity::testing
