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
// So is what the CPU computes from the data that a copy brought, up to its next call (the GPU could, and bring what comes out), and
// the CPU time between results of few bytes that come one by one. A line of Python takes longer to reach the driver than the
// driver takes: the CPU time before its first call is in the upper end, as far as the calls take as long.
//
// Large data is watched in parts (unused_downloads.h). Where nobody looks at a quarter or more of what a line brings, it is said how
// much, and what it gains to bring the rest alone.
//
// A line that sends data again and again is the other direction: what the CPU does right before is likely what makes that data
// (a batch that is gathered, a matrix that is filled), and the GPU could make it, or keep it. It is listed beside these waits, but
// is not in what they cost together.
#pragma once
#include "analysis/findings/asked_lines.h"

namespace diogenes {

struct RequiredWaits {
  std::vector<Required> found;  // largest gain first
  Figure together;              // of all that wait
};

// Those that gain `least` or more together, and each a quarter of it. `most`: lines that are looked at; each is one more replay.
RequiredWaits find_required(const ProblemInput& input, const std::vector<Problem>& problems,
                            const Lines& lines, Nanoseconds least, size_t most);

}  // namespace diogenes
