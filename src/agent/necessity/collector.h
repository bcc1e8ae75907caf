// Stages 3 and 4: which synchronizations were needed, and what was transferred (DESIGN.md, section 7).
// In: every outermost public call, before and after. Out: VerdictRecord, HashRecord through recorder.h.
// Internally serialised. Calls the driver itself only through driver_calls.h, never during capture.
#pragma once
#include "agent/call.h"

namespace diogenes::agent {

// `stage`: memory_tracing (all synchronizations watched, transfers hashed) or sync_use (planned sites only,
// no hashing).
// `watch_run` of `watch_runs`: as in the plan.
void start_necessity(Stage stage, uint32_t watch_run = 0, uint32_t watch_runs = 1);

// `call` has its objects' numbers and kCapturing (agent/objects.h). Opens guards over memory that the call
// uses.
void necessity_before(Call& call);

// `call.id` is set. Updates the order of work, closes and opens instances, raises guards.
void necessity_after(Call& call);

// The last thing before the program goes on: what the agent did since call.end, raising guards above all, is
// not time from the synchronization to its first use.
void necessity_returning(const Call& call);

// Orderly end of the process: closes all instances that are still open. Not signal-safe.
void finish_necessity();

}  // namespace diogenes::agent
