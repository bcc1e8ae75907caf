// What memory held, told once the GPU is done: destinations of copies to the device that seem to repeat what
// was sent before are read back into staging memory, in the stream of the program's own copy and before it;
// and destinations of copies to the host are read where they lie. Both wait for the program's own
// synchronization. In: copies, and calls that waited. Out: HashRecords. Has a lock of its own.
#pragma once
#include "agent/core/calls/call.h"
#include "agent/core/memory/content.h"
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

void append_content(OperationId id, const Content& content, Held held);
// What the destination held, compared with what came.
Held compare(const Content& held, const Content& content);

// Was this content brought to that place of the device before, or from there? The table takes a limited
// number.
bool was_there_before(const Content& content, uint64_t device, uint64_t bytes);
void remember_there(const Content& content, uint64_t device, uint64_t bytes);
// The number of the launch that follows the last copy of as much to this place of the host; 0: there was none. Sometimes that
// of another copy, which is later.
uint32_t last_fetched(const TransferArguments& copy);
void note_fetched(const TransferArguments& copy);

// Enqueues the reading back of the destination. 0: it could not be done.
uint32_t read_back(const Call& call, const DecodedCall& decoded, const Content& content);
void name_readback(uint32_t readback, OperationId id);
void cancel_readback(uint32_t readback);

// An asynchronous copy to the host. `held`: what its destination held before; zeros: not known.
void await_download(const Call& call, const DecodedCall& decoded, const Content& held);
// Host memory is overwritten or released: what a copy brought there will not be known.
void forget_downloads(AddressRange range);

// The call has waited: what it covers for sure is looked at.
void look_at_covered(const Call& call, const DecodedCall& decoded);
void give_up_readbacks();  // the process ends: the rest stays unverified
// ... and the memory that they are brought to goes with this context, if it was made there. 0: with one that is not known.
void end_readbacks_in(uint16_t context);
void forget_readbacks();  // in a forked child

}  // namespace diogenes::agent::facts
