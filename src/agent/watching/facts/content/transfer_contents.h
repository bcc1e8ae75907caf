// The content of copies: its hash, whether the destination held it already, and the addresses in what goes to
// the device. In: the call, before it runs and after it, with its source's guards down. Out: one HashRecord a
// copy, at once or once its data can be read (readbacks.h).
#pragma once
#include "agent/core/memory/content.h"
#include "agent/watching/facts/decoding/decoded_call.h"
#include "agent/watching/guard/guards.h"

namespace diogenes::agent::facts {

struct Contents {
  Content content;    // what the copy brings; zeros: not known
  Content held;       // what the destination on the host held before; zeros: not known
  bool remembered;    // the destination on the device held the same before
  uint32_t readback;  // 0: none
};

// Before a copy to the host: was anything brought there before? If so, its guard may be up, and the copy's
// bytes are read. So is what it overwrites, unless a kernel was given the source since.
bool looks_at_destination(const DecodedCall& decoded);

void contents_before(const Call& call, const DecodedCall& decoded, Contents& contents);
// A blocking copy to the host is done, and its guard not up yet.
void contents_of_done(const Call& call, const DecodedCall& decoded, Contents& contents);
void contents_after(const Call& call, const DecodedCall& decoded, const Contents& contents);

}  // namespace diogenes::agent::facts
