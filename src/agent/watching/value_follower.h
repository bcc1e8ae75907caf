// What becomes of values behind their first touch: followed by a library of its own (src/values), where it is preloaded and
// the plan names places.
#pragma once
#include "trace/value_source.h"

namespace diogenes::agent {

// Never null; where there is none, it does nothing.
extern const ValueSource* value_source;

void find_value_source();        // once, at the start
uint32_t registers_of_values();  // debug registers of each thread that are not ours

}  // namespace diogenes::agent
