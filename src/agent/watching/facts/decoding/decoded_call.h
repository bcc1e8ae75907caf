// A call as it was decoded (decode.h).
#pragma once
#include "agent/core/calls/arguments.h"
#include "agent/core/memory/kernel_arguments.h"
#include "agent/watching/facts/decoding/operands.h"
#include "agent/watching/facts/ranges/host_range.h"

namespace diogenes::agent::facts {

// One operand of a transfer.
struct TransferOperand {
  MemoryKind kind = MemoryKind::unknown;
  HostRange host;  // host.range: its bytes, whatever kind of memory they are
  bool on_host() const {
    return kind == MemoryKind::pageable || kind == MemoryKind::pinned || kind == MemoryKind::registered ||
           kind == MemoryKind::managed || kind == MemoryKind::unknown;
  }
};

struct DecodedCall {
  static constexpr int kHosts = 64;

  uint16_t context = 0;  // number of the current one; 0: none
  uint8_t flags = 0;     // CallFlag
  bool names_stream = false;
  bool page_tables = false;  // the stream's device reads pageable memory through the CPU's page tables
  uint32_t second_event = 0;
  uint64_t argument = 0;  // CallRecord::argument
  TransferArguments transfer;
  bool is_transfer = false;
  TransferOperand destination, source;
  bool reads_destination = false;  // looks_at_destination()
  Operands operands;
  KernelAddresses kernel_addresses;  // to kernels
  // Host memory that the work writes or reads: to be watched. What does not fit is not, and the judge sees
  // that.
  HostRange hosts[kHosts];
  int host_count = 0;
  // Memory whose guards come down while the driver uses it.
  AddressRange lowered[2];
  int lowered_count = 0;

  void clear();
  bool looked_at() const { return (flags & kNotLookedAt) == 0; }  // --max-overhead
  void add_host(const HostRange& host);
};

}  // namespace diogenes::agent::facts
