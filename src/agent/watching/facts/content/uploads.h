// What copies bring to the device, read once: hashed, and searched for addresses (found_addresses.h). In: a call, before it
// runs, with its source's guards down. Under no lock.
#pragma once
#include "agent/core/memory/content.h"
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

bool copies_to_device(const DecodedCall& decoded);
// The program may hand the driver memory that is not there: then `*content` stays as it is. Null: it is not hashed.
void read_upload(const TransferArguments& copy, Content* content);

}  // namespace diogenes::agent::facts
