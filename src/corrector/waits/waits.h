// How one wait is deferred, and what is given to the GPU behind it. Under the lock.
#pragma once
#include "corrector/corrector_state.h"

namespace diogenes::corrector {

// One bit for each of these streams.
uint64_t bits(const int* streams, int count);

Gives gives_by(const CorrectedCall& call);

// What keeps the site's calls from being corrected now; none: nothing.
Undeferred refusal(const CorrectedCall& call, int site);

// Defers the wait that the call is. `site`: of the plan. None: done.
Undeferred defer(const CorrectedCall& call, int site);

}  // namespace diogenes::corrector
