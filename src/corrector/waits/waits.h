// How one wait is deferred, and what is given to the GPU behind it. Under the lock.
#pragma once
#include "corrector/corrector_state.h"

namespace diogenes::corrector {

// One bit for each of these streams.
uint64_t bits(const int* streams, int count);

// What a stream (-1: a new one) is given now must come behind waits for others that have no mark yet. False: await them.
bool mark_others(int stream);
// Before its own stream is given more, the place of a wait without a mark is kept: who awaits it later, and without that all of
// its stream, might be the one that lets the new work go on. Where there are several streams, others may come to wait for
// it: it gets its mark. False: await it.
bool mark_own(const CorrectedCall& call, int stream);

// What keeps the site's calls from being corrected now; none: nothing.
Undeferred refusal(const CorrectedCall& call, int site);

// Defers the wait that the call is. `site`: of the plan. None: done.
Undeferred defer(const CorrectedCall& call, int site);

}  // namespace diogenes::corrector
