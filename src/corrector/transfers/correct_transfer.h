// How a copy or fill is made without waiting (transfers.h), and its wait deferred.
#pragma once
#include "corrector/corrector_state.h"

namespace diogenes::corrector {

// Not under the lock. `site`: of the plan. False: the driver is to make it.
bool correct_transfer(const CorrectedCall& call, int site);

}  // namespace diogenes::corrector
