// What becomes of values behind their first touch: followed by a library of its own (src/values), where it is preloaded and
// the plan names places.
#pragma once
#include "agent/watching/guard/sinks.h"

namespace diogenes::agent {

void find_value_source();  // once, at the start

}  // namespace diogenes::agent
