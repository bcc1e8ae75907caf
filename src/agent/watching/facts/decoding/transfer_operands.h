// Where the memory of a transfer's operands lies, and how the host's part of it can be watched.
// In: addresses, and what the call's name says of them. Out: kinds, ranges, ways of watching. Asks the driver
// and the kernel; never under the collector's lock.
#pragma once
#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

// What a call's name says of an address.
enum class Said : uint8_t { nothing, host, device };

// `written`: by the GPU. `may_ask`: the driver may be asked (no stream is being captured).
TransferOperand transfer_operand(uint64_t address, uint64_t span, Said said, bool written, bool may_ask,
                                 bool page_tables);
// Adds it to the operands, and to the host memory to be watched.
void add_transfer_operand(const TransferOperand& operand, bool written, bool whole, DecodedCall& decoded);
// One operand of a copy or fill in a graph.
void add_graph_transfer_operand(AddressRange range, bool said_host, bool written, DecodedCall& decoded);

}  // namespace diogenes::agent::facts
