#include "agent/watching/facts/decoding/decoded_call.h"

namespace diogenes::agent::facts {

void DecodedCall::clear() {
  context = 0;
  flags = 0;
  names_stream = page_tables = is_transfer = reads_destination = false;
  second_event = 0;
  argument = 0;
  transfer = {};
  destination = source = {};
  operands.clear();
  kernel_addresses.clear();
  host_count = lowered_count = 0;
}

void DecodedCall::add_host(const HostRange& host) {
  if (host.range.empty()) return;
  for (int i = 0; i < host_count; ++i)
    if (hosts[i].range == host.range) {
      if (host.protection == Protection::no_access) hosts[i].protection = host.protection;
      hosts[i].by_kernel |= host.by_kernel;
      return;
    }
  if (host_count < kHosts) hosts[host_count++] = host;
}

}  // namespace diogenes::agent::facts
