// What memory held, told once the GPU is done: destinations of copies to the device that seem to repeat what
// was sent before are read back into staging memory, in the stream of the program's own copy and before it;
// and destinations of copies to the host are read where they lie. Both wait for the program's own
// synchronization. In: copies, and calls that waited. Out: HashRecords. Has a lock of its own.
#pragma once
#include "agent/call.h"
#include "agent/facts/decode.h"
#include "agent/necessity/transfers/content.h"

namespace diogenes::agent::facts {

// Before a copy to the device: was the same content sent to the same place before? If so, `first` is that
// copy.
bool was_sent_before(const DecodedCall& decoded, const Content& content, OperationId* first);
void remember_sent(const DecodedCall& decoded, const Content& content, OperationId id);

// Enqueues the reading back of the destination. 0: it could not be done.
uint32_t read_back(const Call& call, const DecodedCall& decoded, const Content& content, OperationId first);
void name_readback(uint32_t readback, OperationId id);
void cancel_readback(uint32_t readback);

// An asynchronous copy to the host.
void await_download(const Call& call, const DecodedCall& decoded);
// Host memory is overwritten or released: what a copy brought there will not be known.
void forget_downloads(AddressRange range);

// The call has waited: what it covers for sure is looked at.
void look_at_covered(const Call& call, const DecodedCall& decoded);
// The context that owns the staging memory may be gone, or the process ends: the rest stays unverified.
void give_up_readbacks();
void forget_readbacks();  // in a forked child

}  // namespace diogenes::agent::facts
