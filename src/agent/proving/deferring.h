// Where waits are corrected: the host memory that GPU work reaches, call by call, and guards over it where a wait is deferred.
// What the corrector asks of the agent (trace/corrector_services.h) is answered here.
#pragma once
#include "agent/core/calls/call.h"
#include "base/range.h"
#include "trace/corrector_services.h"

namespace diogenes::agent::facts {

void start();

// `call` has its objects' numbers and kCapturing (agent/core/calls/stream_numbers.h).
void before(Call& call);
void after(Call& call);
void note_unseen_call();  // one that may give the GPU work

// Guards for all that is dirty where `call`'s wait is deferred.
Undeferred guard_dirty(Deferral deferral, const Call& call);
bool has_uncovered();  // host memory that work was given to, and that no wait since has surely covered
void release_deferred(Deferral last);  // ends the guards of guard_dirty()

// A transfer that is corrected is not passed to before() and after(), but to these two.
Undeferred begin_transfer(Call& call, CorrectedTransfer& transfer);
void end_transfer(Call& call, bool given);

// Of the source of a copy.
uint32_t watch_source(uint64_t begin, uint64_t bytes);
bool is_unwritten(uint32_t watch);
void end_watch(uint32_t watch);

}  // namespace diogenes::agent::facts
