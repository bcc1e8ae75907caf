// Copies and fills that can be made without waiting (trace/corrector_services.h).
#pragma once
#include "agent/watching/facts/decoding/decoded_call.h"
#include "trace/corrector_services.h"

namespace diogenes::agent::facts {

// Why the host's memory cannot be guarded until the GPU is done with it; none: it can.
Undeferred why_unguardable(const HostRange& host);

// What `decoded` copies, or fills; the value is left to the caller. None: it can be made without waiting. Only those fills wait
// that set managed or pinned memory (docs/driver-facts.md). `asynchronous`: it waits for pageable memory alone.
Undeferred corrected_transfer(const DecodedCall& decoded, bool asynchronous, CorrectedTransfer& transfer);

}  // namespace diogenes::agent::facts
