// The corrector (src/corrector) and what the agent does for it (trace/corrector_services.h).
#pragma once
#include "agent/core/calls/call.h"
#include "trace/corrector_services.h"

namespace diogenes::agent {

void start_corrector();  // once, at the start

// A call as the corrector sees it. Before the driver's function: also its stack and site, if the plan names its function.
CorrectedCall described(const Call& call);
void name_site(Call& call);

}  // namespace diogenes::agent
