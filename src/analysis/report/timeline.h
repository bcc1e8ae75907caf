// The timeline of a report. In: the joined run of stage 2, problems, needed waits. Out: about `most` intervals, however
// many events there were.
//
// GPU work was timed in another run than the calls. So it is placed: behind the call that gave it and behind the work
// before it in its stream, for as long as it was measured to take, and no later than the wait that covered it returned.
//
// What has to be merged: time is cut into slots, and all events of one lane and one finding that begin in the same slot
// and are shorter than it become one interval. The slots are as short as half of `most` allows. So the longest events
// stay, and problematic ones never vanish among others. With the other half, some slots, evenly spaced, are left as
// they are: so how calls follow each other can be seen in the largest session, too.
#pragma once
#include "analysis/findings/problems.h"
#include "analysis/findings/required.h"
#include "analysis/report/report_timeline.h"

namespace diogenes {

// Enough to zoom in a thousandfold on a wide screen; a page of them has 3 MB.
inline constexpr size_t kUsualIntervals = 100'000;

// `work_names`: what GPU work is called, by Thread::gpu_mix; empty where that is not known.
ReportTimeline timeline_of(const ProblemInput& input, const std::vector<Problem>& problems,
                           const std::vector<Required>& required, const std::vector<std::string>& work_names,
                           size_t most);

// Merges until no more than `most` are left, or until slots are as long as the whole.
void thin(ReportTimeline& timeline, size_t most);

}  // namespace diogenes
