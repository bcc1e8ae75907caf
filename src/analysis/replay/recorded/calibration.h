// What a run tells of its machine: latencies, gaps, whether kernels overlap. In: Schedule, its GPU times, or
// none. Out: Machine. Who wakes how late in another run than that of the GPU times: wake_up.h.
#pragma once
#include "analysis/replay/recorded/known_times.h"
#include "analysis/replay/recorded/machine.h"

namespace diogenes::replay {

// Latencies by the operations for which they were what held them up; `fallback` where there are none.
Machine machine_from(const Schedule& schedule, const KnownTimes& known, const Machine& fallback);

// The same without GPU times: `assumed` latencies, no more than the shortest launch and wait allows.
Machine machine_within(const Schedule& schedule, const Machine& assumed);

// A thread that takes longer to wake, where it usually takes `usual`, was held up by something else.
inline int64_t longest_wake_up(int64_t usual) { return 10 * usual + 10'000; }

}  // namespace diogenes::replay
