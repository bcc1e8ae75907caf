// Addresses in memory that the CPU shares with kernels. A kernel that is given such memory finds there what the CPU put into it,
// unseen by any call: perhaps the address of pinned memory that no kernel was ever given.
#pragma once
#include "agent/watching/facts/decoding/decode.h"

namespace diogenes::agent::facts {

// A kernel was given `operands`, or (`anything`) reaches all that is shared. The host's memory that is named there is shared
// from now on. True: where that is too much to look through, or cannot be read, all host memory may be reached. Under no lock:
// reads the program's memory.
bool reaches_any_host_memory(const Operands& operands, bool anything);

// Where waits are corrected: the host's memory that a copy to the device names is shared from now on. What is larger than
// 64 KiB is looked through once, and again when other memory was made since: a table that is so large is rarely filled later.
void look_at_upload(const DecodedCall& decoded);

}  // namespace diogenes::agent::facts
