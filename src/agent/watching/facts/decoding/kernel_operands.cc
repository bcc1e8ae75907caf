// What kernels reach: the allocations that they are given, and by what lies there, others.
//
// Not seen, and so the condition of a verdict that rests on arguments: memory that a kernel reaches by an
// address which another kernel put where it finds it; module variables whose address was never asked for.
#include "agent/watching/facts/content/hidden_addresses.h"
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

// Under the lock: all memory that kernels and the host share. `hidden`: the host's other memory, too.
void add_shared(DecodedCall& decoded, bool hidden) {
  if (state().unlisted_host) decoded.operands.flags |= kAnyHost;
  if (state().shared == 0) return;
  state().memory.for_each([&](Allocation& allocation) {
    const bool reached = allocation.shared || (hidden && is_host_side(allocation.kind));
    if (reached && !is_listed(allocation, decoded)) add_allocation(allocation, kReached, decoded);
  });
}

}  // namespace

void share(Allocation& allocation) {
  if (allocation.kind == MemoryKind::device || allocation.shared) return;
  allocation.shared = true;
  ++state().shared;
}

void share_all_host_memory() {
  state().memory.for_each([](Allocation& allocation) { share(allocation); });
}

bool share_addressed(uint64_t upper, int below) {
  if (below == 0 && any_address().contain(upper)) state().possible_addresses.add(upper);
  if (below > 0 && any_address().have_upper(upper, below)) state().possible_addresses.add_part(upper, below);
  if (!state().memory.bounds().have_upper(upper, below)) return false;
  state().memory.for_each([upper, below](Allocation& allocation) {
    if (AddressBounds::has_upper(allocation.range, upper, below)) share(allocation);
  });
  return true;
}

// Under the lock: what the kernel is given, and by that, does it reach other memory of the host's?
enum class Reaches : uint8_t { nothing, by_given, anything };

static Reaches add_given(DecodedCall& decoded) {
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
  if (kernel_addresses.unknown) share_all_host_memory();
  if (addresses) {
    // It may pass them on.
    for (int i = 0; i < kernel_addresses.count; ++i)
      if (Allocation* allocation = state().memory.near(kernel_addresses.address[i]))
        allocation->holds_addresses = true;
    if (state().variables) state().unlisted_memory = true;
  }
  // What is given no memory works on what it has otherwise.
  anything |= addresses || known == 0;
  if (decoded.page_tables) operands.flags |= kAnyPageable;
  if (anything) operands.flags |= kAnyDevice;
  if (state().variables)
    state().memory.for_each([&](Allocation& allocation) {
      if (allocation.variable) add_allocation(allocation, kReached, decoded);
    });
  return anything || state().variables ? Reaches::anything : shared ? Reaches::by_given : Reaches::nothing;
}

void add_kernel_operands(DecodedCall& decoded) {
  Reaches reaches;
  {
    LockGuard guard(state().lock);
    reaches = add_given(decoded);
  }
  if (reaches == Reaches::nothing) return;
  // In one block that is shared lie the addresses of others.
  const bool hidden = reaches_any_host_memory(decoded.operands, reaches == Reaches::anything);
  LockGuard guard(state().lock);
  add_shared(decoded, hidden);
}

}  // namespace diogenes::agent::facts
