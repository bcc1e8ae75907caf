#include "agent/watching/facts/decoding/kernel_operands.h"

#include "agent/watching/facts/content/found_addresses.h"
#include "agent/watching/facts/facts_state.h"

namespace diogenes::agent::facts {

namespace {

// Under the lock. `how`: kArgument or kReached.
void add_allocation(const Allocation& allocation, uint8_t how, DecodedCall& decoded) {
  decoded.operands.add(allocation.range, allocation.kind, static_cast<uint8_t>(kReads | kWrites | how));
  if (allocation.kind == MemoryKind::device) return;
  HostRange host;
  host.range = allocation.range;
  host.refusal = allocation.refusal;
  host.by_kernel = true;
  host.own_pages = allocation.kind != MemoryKind::registered;
  if (allocation.kind == MemoryKind::registered && allocation.range.size() < kSmallestPageable)
    host.method = WatchMethod::watchpoints;
  decoded.add_host(host);
}

bool is_listed(const Allocation& allocation, const DecodedCall& decoded) {
  for (int i = 0; i < decoded.operands.count; ++i)
    if (decoded.operands.list[i].begin == allocation.range.begin &&
        (decoded.operands.list[i].flags & kArgument))
      return true;
  return false;
}

// Under the lock: what was found, and where the kernel reaches more than it is given, all memory that kernels and the host
// share. `hidden`: the host's other memory, too.
void add_others(DecodedCall& decoded, bool shared, bool hidden) {
  if (shared && state().unlisted_host) decoded.operands.flags |= kAnyHost;
  if (!state().found && !(shared && state().shared > 0) && !hidden && !state().unnamed_reached) return;
  state().memory.for_each([&](Allocation& allocation) {
    const bool unseen = hidden || (state().unnamed_reached && !allocation.named);
    const bool reached =
        allocation.found || (shared && allocation.shared) || (unseen && is_host_side(allocation.kind));
    if (reached && !is_listed(allocation, decoded)) add_allocation(allocation, kReached, decoded);
  });
}

}  // namespace

// Under the lock: what the kernel is given. True: by that it may reach other memory that kernels and the host share.
static bool add_given(DecodedCall& decoded) {
  Operands& operands = decoded.operands;
  const KernelAddresses& kernel_addresses = decoded.kernel_addresses;
  operands.flags |= kHasKernel;
  const uint32_t number = ++state().launches;
  bool anything = kernel_addresses.unknown || state().unlisted_memory || decoded.page_tables;
  bool shared = false, addresses = false;
  int known = 0;
  for (int i = 0; i < kernel_addresses.count; ++i) {
    Allocation* allocation = state().memory.near(kernel_addresses.address[i]);
    if (!allocation) {
      anything |= state().memory.device_bounds().contain(kernel_addresses.address[i]);
      continue;
    }
    ++known;
    allocation->written = number;
    share(*allocation);
    shared |= allocation->kind != MemoryKind::device;
    addresses |= allocation->holds_addresses;
    add_allocation(*allocation, kArgument, decoded);
  }
  if (kernel_addresses.unknown) state().memory.for_each([](Allocation& allocation) { share(allocation); });
  // What is given no memory works on what it has otherwise.
  anything |= addresses || known == 0;
  if (decoded.page_tables) operands.flags |= kAnyPageable;
  if (anything) operands.flags |= kAnyDevice;
  if (state().variables)
    state().memory.for_each([&](Allocation& allocation) {
      if (allocation.variable) add_allocation(allocation, kReached, decoded);
    });
  return anything || state().variables || shared;
}

void add_kernel_operands(DecodedCall& decoded) {
  bool shared;
  {
    LockGuard guard(state().lock);
    shared = add_given(decoded);
  }
  const bool hidden = !look_at_given(decoded.operands);
  LockGuard guard(state().lock);
  add_others(decoded, shared, hidden);
}

}  // namespace diogenes::agent::facts
