// What the facts of one process prove of its synchronizations: the events are judged, and the verdicts become
// evidence about operations (analysis/run.h).
// In: a process of stage 3 or 4 with facts. Out: its threads' evidence.
#pragma once
#include "analysis/run.h"

namespace diogenes::necessity {

// False: the process recorded no facts.
bool judge_process(Process& process);

}  // namespace diogenes::necessity
