#include "agent/watching/facts/allocations.h"

#include "agent/core/calls/arguments.h"
#include "agent/core/memory/mappings.h"
#include "agent/core/recording/recorder.h"
#include "agent/watching/facts/context_numbers.h"
#include "agent/watching/facts/decoding/decode.h"
#include "agent/watching/facts/decoding/graph_operands.h"
#include "agent/watching/facts/facts_state.h"
#include "driver/cuda_types.h"

namespace diogenes::agent::facts {

namespace {

WatchRefusal refusal_of(const AllocationArguments& allocation) {
  if (allocation.kind != MemoryKind::registered) return WatchRefusal::none;
  switch (mapping_kind_now(AddressRange::of(allocation.address, allocation.bytes))) {
    case MappingKind::private_memory:
    case MappingKind::private_file:
      return WatchRefusal::none;
    case MappingKind::shared_memory:
      return WatchRefusal::shared_memory;
    case MappingKind::stack:
      return WatchRefusal::stack;
    case MappingKind::unknown:
      break;
  }
  return WatchRefusal::unknown_memory;
}

bool is_mapped_for_kernels(const Call& call, MemoryKind kind) {
  if (kind == MemoryKind::managed) return true;
  if (call.driver->arguments == Arguments::allocate_flags && kind == MemoryKind::pinned)
    return (call.argument(2) & CU_MEMHOSTALLOC_DEVICEMAP) != 0;
  if (call.driver->arguments == Arguments::register_host)
    return (call.argument(2) & CU_MEMHOSTREGISTER_DEVICEMAP) != 0;
  return false;
}

void add_allocation(const Call& call, const AllocationArguments& made, DecodedCall& decoded) {
  Allocation allocation{};
  allocation.range = AddressRange::of(made.address, made.bytes);
  allocation.kind = made.kind;
  allocation.refusal = refusal_of(made);
  decoded.argument = made.address;
  if (gives_work(call)) decoded.operands.add(allocation.range, made.kind, kWrites | kWhole);
  LockGuard guard(state().lock);
  if (call.driver->arguments == Arguments::global) {
    allocation.variable = state().variables = true;
    const Allocation* known = state().memory.find(made.address);
    if (known && known->variable && known->range.contains(allocation.range)) return;
  }
  if (!state().memory.add(allocation)) {
    // From now on memory that is not here is not known: host memory may be anything.
    count_drop(Drop::objects_full);
    state().unlisted_memory = state().unlisted_host = true;
    return;
  }
  Allocation& known = *state().memory.find(made.address);
  if (!is_mapped_for_kernels(call, made.kind)) return;
  decoded.flags |= kMappedMemory;
  share(known);
}

// Memory that is no longer registered is still there, and so is what the GPU may be doing to it.
void remove_allocation(uint64_t address, bool registered) {
  LockGuard guard(state().lock);
  const Allocation* known = state().memory.find(address);
  if (!known) return;
  if (known->kind != MemoryKind::device && !registered) {
    forget_host_memory(known->range);
  }
  if (known->shared) --state().shared;
  state().memory.remove(known->range.begin);
}

// A module's variable whose address was asked for: kernels reach it without being given it.
void add_variable(const Call& call, DecodedCall& decoded) {
  auto *address = call.pointer<const uint64_t*>(0), *bytes = call.pointer<const uint64_t*>(1);
  {
    LockGuard guard(state().lock);
    if (address)
      if (const Allocation* known = state().memory.find(*address); known && known->variable) return;
    if (!address || !bytes) {
      state().unlisted_memory = true;
      return;
    }
  }
  add_allocation(call, {MemoryKind::device, false, *address, *bytes}, decoded);
}

// A module goes, and with it its variables; which are its own is not known.
void forget_variables() {
  state().kernels.forget_functions();
  LockGuard guard(state().lock);
  bool host = false;
  state().memory.for_each([&](Allocation& allocation) { host |= allocation.variable && allocation.shared; });
  if (host) state().unlisted_host = state().unlisted_memory = true;
}

void note_host_pointer(const Call& call, DecodedCall& decoded) {
  auto* device = call.pointer<const uint64_t*>(0);
  LockGuard guard(state().lock);
  if (Allocation* known = state().memory.find(call.argument(1))) {
    share(*known);
    decoded.flags |= kMappedMemory;
    decoded.argument = known->range.begin;
  }
  if (!device || *device != call.argument(1)) state().unlisted_memory = state().unlisted_host = true;
}

}  // namespace

AddressRange named_memory(const Call& call) {
  if (call.driver->arguments == Arguments::register_host)
    return AddressRange::of(call.argument(0), call.argument(1)).pages();
  if (call.driver->arguments != Arguments::release && call.driver->arguments != Arguments::unregister_host)
    return {};
  LockGuard guard(state().lock);
  const Allocation* known = state().memory.find(call.argument(0));
  return known && known->kind != MemoryKind::device ? known->range : AddressRange{};
}

void note_made(const Call& call, DecodedCall& decoded) {
  AllocationArguments allocation;
  if (call.driver->arguments == Arguments::global && !read_allocation(call, &allocation)) {
    add_variable(call, decoded);
  } else if (read_allocation(call, &allocation)) {
    if (allocation.released)
      remove_allocation(allocation.address, call.driver->arguments == Arguments::unregister_host);
    else
      add_allocation(call, allocation, decoded);
  }
  if (call.driver->arguments == Arguments::host_pointer) note_host_pointer(call, decoded);
  if (call.driver->has(Trait::may_be_on_host))
    if (auto* properties = call.pointer<const int*>(2))
      if (properties[2] >= CU_MEM_LOCATION_TYPE_HOST) {
        LockGuard guard(state().lock);
        state().unlisted_host = true;
      }
  if (call.driver->has(Trait::unloads)) forget_variables();
  if (call.driver->role == Role::graph) after_graph_call(call);
  if (call.driver->arguments == Arguments::stream_create) name_created_stream(call, decoded.context);
}

}  // namespace diogenes::agent::facts
