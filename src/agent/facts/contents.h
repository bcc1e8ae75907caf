// The content of copies: its hash, and the addresses in what goes to the device. In: the call, before it runs
// and after it, with its source's guards down. Out: one HashRecord a copy, at once or once its data can be
// read (readbacks.h).
#pragma once
#include "agent/facts/decode.h"
#include "agent/necessity/transfers/content.h"

namespace diogenes::agent::facts {

struct Contents {
  Content content;  // of what goes to the device; zeros: not known
  bool repeats;     // the same was sent there before
  OperationId first;
  uint32_t readback;  // 0: none
};

void contents_before(const Call& call, const DecodedCall& decoded, Contents& contents);
// A blocking copy to the host is done, and its guard not up yet.
void contents_of_done(const Call& call, const DecodedCall& decoded, Contents& contents);
void contents_after(const Call& call, const DecodedCall& decoded, const Contents& contents);

}  // namespace diogenes::agent::facts
