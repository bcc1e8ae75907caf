// Waits that are corrected: by a library of its own (src/corrector), where it is preloaded and the plan names sites.
#pragma once
#include "agent/core/calls/call.h"
#include "agent/core/running_stage.h"
#include "trace/corrector_services.h"

namespace diogenes::agent {

// Never null; where there is none, it does nothing.
extern const Corrector* corrector;

// Once, at the start. `guard` and the others: as in CorrectorServices.
void find_corrector(Undeferred (*guard)(Deferral, const Call&), bool (*has_unguarded)(),
                    void (*release)(Deferral));

// A call inside a call, so not seen further. If a signal's handler of the program's makes it, that one may have interrupted a
// hook while it waits (ThreadState::awaits), or the driver: all that was deferred is awaited first, and what the call gives the
// GPU counts as not known. `first`: its first argument; `from`: where it returns to.
void before_unseen(uint16_t function, uint64_t first, uintptr_t from);

// Before the driver's function, and after it. True: the call is deferred, and must not be made.
bool correct_before(Call& call);
void correct_after(const Call& call);
// Behind a call. True: it failed for want of memory, and what the corrector kept is free now: it is to be made once more.
bool makes_room(Call& call);

}  // namespace diogenes::agent
