// From the GPU's end to the waiting thread's return, on average, as the recorded run tells it. In: Schedule,
// durations that another run told (GPU times), that run's Machine. Out: the wake-up with which its waits
// return, on average, when they did. That holds what launches took longer than their median, and what a few
// waits took much longer than the others: a wait that is gone, gains that, too.
#pragma once
#include "analysis/replay/recorded/machine.h"

namespace diogenes::replay {

// Nanoseconds, 0 or more. The machine's where the waits do not tell.
int64_t wake_up_of(const Schedule& schedule, const std::vector<int64_t>& durations, const Machine& machine);

}  // namespace diogenes::replay
