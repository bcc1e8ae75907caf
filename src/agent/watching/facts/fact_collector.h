// Stages 3 and 4: the facts of each call. Before it: it is decoded, and guards over memory that the driver is
// about to use come down. After it: what it made is known, its host memory is dirty, guards go up where it
// has waited, and the records are written. What follows from the facts is judged in the analysis. In: every
// outermost public call. Out: records (trace/format.h). Calls the driver itself only through driver_calls.h,
// never during capture.
#pragma once
#include "agent/core/calls/call.h"
#include "base/range.h"

namespace diogenes::agent::facts {

void start();  // also in a forked child: everything anew

// `call` has its objects' numbers and kCapturing (agent/core/calls/stream_numbers.h).
void before(Call& call);
// Before the operation is recorded.
void after(Call& call);
// Behind the operation's record.
void record_call(const Call& call);

// The calling thread acquired what another released: other guards may have to go up.
void after_acquire();
// Memory was released by other means than a driver call.
void note_release(AddressRange range);
bool may_be_dirty(AddressRange range);

// Orderly end of the process.
void finish();

}  // namespace diogenes::agent::facts
