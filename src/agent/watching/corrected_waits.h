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

// A call that comes while a hook of its own thread waits (ThreadState::awaits), so not seen further: if a handler of the
// program's makes it, all that was deferred is awaited first. `from`: where it returns to.
void await_before_unseen(uintptr_t from);

// Before the driver's function, and after it. True: the call is deferred, and must not be made.
bool correct_before(Call& call);
void correct_after(const Call& call);
// Behind a call. True: it failed for want of memory, and what the corrector kept is free now: it is to be made once more.
bool makes_room(Call& call);

}  // namespace diogenes::agent
