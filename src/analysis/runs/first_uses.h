// Where the first use of what an instance waited for lies. Stages 3 and 4 tell between which two calls of its
// thread, and how far behind the first of them; how long that gap is, and all before it, stage 2 tells, which
// disturbs the program less. In: a process of stage 3 or 4 with its evidence; a thread of stage 2. Out: the
// time from the instance's return to the use, as it would have been in stage 2.
#pragma once
#include <optional>

#include "analysis/runs/run.h"

namespace diogenes {

// Fills Thread::first_uses of all threads. Reads the thread files for what recording took there.
void place_first_uses(Process& process);

// Of `instance` (position in `theirs`); null: it has no first use at a known time.
// `near`: 0 at first; where the last search of this thread ended.
const FirstUsePlace* first_use_of(const Thread& theirs, uint32_t instance, size_t& near);

struct UseInTracing {
  Nanoseconds after;  // from the instance's return to the use
  Nanoseconds gap;  // between the two calls around the use, without what recording took; -1: no call follows
};

// The same place in `ours`, whose operation `instance` is the counterpart of `place.instance`. The calls
// around the use are found by their distance from the instance; nothing if they are others there, by their
// sites.
std::optional<UseInTracing> place_in_tracing(const FirstUsePlace& place, const Thread& theirs,
                                             const Process& process, const Thread& ours, uint32_t instance);

}  // namespace diogenes
