// The content of copies to the device: its hash, and the addresses in it. In: the call, before it runs, with
// its source's guards down. Out: one HashRecord.
#pragma once
#include "agent/facts/decode.h"
#include "agent/necessity/transfers/content.h"

namespace diogenes::agent::facts {

void contents_before(const Call& call, const DecodedCall& decoded, Content& content);
void contents_after(const Call& call, const DecodedCall& decoded, const Content& content);

}  // namespace diogenes::agent::facts
