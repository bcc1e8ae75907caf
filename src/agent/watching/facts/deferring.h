// Where waits are corrected: what the corrector asks of the facts (trace/corrector_services.h). What belongs to one call under
// way is in fact_collector.h.
#pragma once
#include "agent/core/calls/call.h"
#include "trace/corrector_services.h"

namespace diogenes::agent::facts {

bool has_uncovered();  // host memory that work was given to, and that no wait since has surely covered
void release_deferred(Deferral last);  // ends the guards of fact_collector.h's guard_dirty()

// Of the source of a copy.
uint32_t watch_source(uint64_t begin, uint64_t bytes);
bool is_unwritten(uint32_t watch);
void end_watch(uint32_t watch);

}  // namespace diogenes::agent::facts
