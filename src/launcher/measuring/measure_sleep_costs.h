// What it costs on this machine that a thread sleeps until another one wakes it (trace/session.h, SleepCost), measured with two
// threads of the tool's own, some 0.4 s. The second one works while the first sleeps, for 5 us to 5 ms.
#pragma once
#include <vector>

#include "trace/session.h"

namespace diogenes::launcher {

// Medians, by length. Empty: no second thread could be had.
std::vector<SleepCost> measure_sleep_costs();

}  // namespace diogenes::launcher
