// What calls do to the memory that the host sees: before the driver uses it, and after it has given its work
// to a stream.
#include "agent/necessity/describe.h"
#include "agent/necessity/state.h"
#include "agent/recorder.h"
#include "driver/cuda_abi.h"

namespace diogenes::agent {

void note_sharing(State& state, const Call& call) {
  if (call.driver->role != Role::mapping && call.driver->role != Role::event &&
      call.driver->role != Role::graph)
    return;
  if (operation_starts(call, "cuIpc") || operation_has(call, "Shareable") ||
      operation_has(call, "ImportExternal") || operation_starts(call, "cuMulticast") ||
      operation_has(call, "ImportPointer"))
    state.work_reasons |= kSharedMemory;
  // Kernels reach these by handles, or at addresses that no allocation gave.
  if (operation_starts(call, "cuTex") || operation_starts(call, "cuSurf") ||
      operation_starts(call, "cuMemMap") || operation_starts(call, "cuIpcOpenMem") ||
      operation_has(call, "GetMapped") || operation_starts(call, "cuGraphicsMap") ||
      operation_starts(call, "cuMulticast") || operation_has(call, "ImportPointer"))
    state.unnamed_memory = true;
  if (call.driver->role == Role::graph && operation_has(call, "EventRecordNode"))
    state.events_undecidable = true;
  if (call.driver->role == Role::graph && (operation_has(call, "AddNode") || operation_has(call, "Clone")))
    state.events_undecidable = true;  // of a kind that is not read
}

void give_to_kernels(State& state, const Allocation& allocation) {
  uint32_t reasons = allocation.unguardable;
  if (allocation.kind == MemoryKind::device) return;
  state.unread_on_host.forget(allocation.range);
  if (allocation.kind == MemoryKind::registered && allocation.range.size() < kSmallestPageable)
    reasons |= kSmallRange;
  if (reasons == 0 &&
      !state.shared.add(allocation.range, state.sequence, allocation.kind != MemoryKind::registered)) {
    count_drop(Drop::objects_full);
    reasons = kUnknownMemory;
  }
  state.kernel_reasons |= reasons;
}

namespace {

// A module goes, and with it its variables; which are its own is not known. The others stay within kernels'
// reach.
void forget_variables(State& state, uint32_t stack) {
  for (;;) {
    AddressRange variable;
    state.memory.for_each([&](const Allocation& allocation) {
      if (allocation.variable) variable = allocation.range;
    });
    if (variable.empty()) return;
    state.shared.use(variable, {kExposed, 0, 0, stack}, state.sequence, state.order.width());
    state.shared.retire(variable.begin);
    state.memory.remove(variable.begin);
    state.kernel_reasons |= kUnknownMemory;
  }
}

}  // namespace

void note_fetched_back(State& state, AddressRange range, const Use& by_device, Flight& flight) {
  static constexpr Clock kNothing{};
  const TransferArguments& copy = flight.effect.arguments;
  bool by_kernels = state.shared.contains(range);  // they may have changed it since
  bool hashed = flight.effect.transfer && state.hashing();
  if (hashed && copy.destination % 8 == 0) flight.kept.looked = state.memory.bounds().bytes();
  state.watches.use(range, by_device, by_kernels ? kNothing : flight.clock, hashed ? &flight.kept : nullptr);
  state.shared.use(range, by_device, state.sequence, state.order.width());
}

void before_memory(State& state, const Call& call, Flight& flight) {
  Effect& effect = flight.effect;
  int width = state.order.width();
  uint32_t number = number_of(state, flight);
  int64_t now = monotonic_now().count;
  const GivenAddresses& given = flight.given;
  if (given.unknown)
    state.memory.for_each_host([&](const Allocation& allocation) { give_to_kernels(state, allocation); });
  for (int i = 0; i < given.count; ++i)
    if (const Allocation* allocation = allocation_near(state, given.address[i]);
        allocation && is_host_side(allocation->kind))
      give_to_kernels(state, *allocation);
  if (effect.transfer && effect.arguments.decoded) {
    if (effect.from_host() && !effect.arguments.fill) {
      Use by_device{kDeviceReuse, now, effect.source.range.begin, call.stack};
      note_fetched_back(state, effect.source.range, by_device, flight);
    }
    if (effect.to_host()) {
      state.watches.suspend(effect.destination.range, false, number);
      state.duplicates.forget_copies(effect.destination.range);
    }
    for (const Side* side : {&effect.source, &effect.destination})
      if ((side->unguardable & kUnknownMemory) && side->kind != MemoryKind::pageable &&
          side->kind != MemoryKind::unknown)
        state.kernel_reasons |= kUnknownMemory;
  }
  if (call.driver->role == Role::graph_launch) before_graph_memory(state, call, flight);
  AllocationArguments allocation;
  if (call.driver->arguments == Arguments::release && read_allocation(call, &allocation)) {
    if (const Allocation* known = state.memory.find(allocation.address);
        known && known->kind != MemoryKind::device) {
      state.watches.suspend(known->range, true, number);
      state.shared.suspend(known->range, number, state.sequence, width);
      state.duplicates.forget_copies(known->range);
    }
  }
  if (call.driver->role == Role::module && operation_has(call, "Unload")) forget_variables(state, call.stack);
  // The driver pins whole pages, and cannot while access to them is taken away.
  if (call.driver->arguments == Arguments::register_host)
    open_range(AddressRange::of(call.argument(0), call.argument(1)).pages(), TouchBy::driver);
}

// Written by the GPU, and visible to the host.
void note_written(State& state, const Side& side, Slot slot, Tick tick) {
  if (state.shared.note(side.range, slot, tick)) return;
  uint32_t reasons = side.unguardable;
  if (side.kind == MemoryKind::managed) reasons |= kUnknownMemory;  // not among the known ones
  if (!is_host_side(side.kind)) {
    if (reasons) state.unwatchable.note(slot, tick, reasons);
    return;
  }
  if (side.kind == MemoryKind::pageable && state.order[slot].page_tables) reasons |= kGuardRefused;
  if (side.range.empty()) reasons |= kUndecoded;
  if (reasons == 0 && !state.watches.add(side, Protection::no_access, slot, tick)) reasons = kUndecoded;
  if (reasons) state.unwatchable.note(slot, tick, reasons);
}

// Read by the GPU, maybe after the call: the host must not write it before that is done.
void note_read(State& state, const Side& side, Slot slot, Tick tick) {
  if (state.shared.note(side.range, slot, tick)) return;
  uint32_t reasons = side.unguardable;
  if (side.kind == MemoryKind::pageable) {
    // Staged when the call returns, except where the device reads pageable memory itself.
    if (state.order[slot].page_tables) state.unwatchable.note(slot, tick, kGuardRefused);
    return;
  }
  if (side.kind == MemoryKind::managed) reasons |= kUnknownMemory;
  if (!is_host_side(side.kind)) {
    if (reasons) state.unwatchable.note(slot, tick, reasons);
    return;
  }
  if (reasons == 0 && !state.watches.add(side, Protection::read_only, slot, tick)) reasons = kUndecoded;
  if (reasons) state.unwatchable.note(slot, tick, reasons);
}

namespace {

// Which of the memory that kernels and the host share the work may have written or read. A kernel that is
// given some of it may find the addresses of the rest there, unless what it is given was read, and holds
// none. One that is given device memory alone finds none, except in tables that were seen when they were
// copied there.
void note_kernel(State& state, const Flight& flight, Slot slot, Tick tick) {
  if (reaches_all_shared(state, flight)) return state.shared.note_kernel(slot, tick);
  for (int i = 0; i < flight.given.count; ++i)
    if (const Allocation* allocation = allocation_near(state, flight.given.address[i]);
        allocation && allocation->kind != MemoryKind::device)
      state.shared.note(allocation->range, slot, tick);
}

}  // namespace

// Gives the stream its work. Returns its tick; 0: none.
Tick after_work(State& state, const Call& call, const Flight* flight) {
  if (!flight || flight->slot == kNoSlot) {
    state.undecidable = true;
    return 0;
  }
  const Effect& effect = flight->effect;
  Slot slot = flight->slot;
  Tick tick = state.order.submit(slot, flight->clock);
  uint32_t reasons = effect.reasons | state.work_reasons;
  if (effect.kernel) {
    note_kernel(state, *flight, slot, tick);
    reasons |= state.kernel_reasons;
    if (state.order[slot].page_tables) reasons |= kUnknownMemory;
  }
  if (reasons) state.unwatchable.note(slot, tick, reasons);
  // What a stream-ordered allocation gives is there behind it in its stream.
  Named named = flight->named;
  if (call.driver->role == Role::allocate) {
    AllocationArguments made;
    const Allocation* allocation = read_allocation(call, &made) ? state.memory.find(made.address) : nullptr;
    if (allocation)
      named.add(allocation->name, true);
    else
      named.anything = true;
  }
  state.named.note(slot, tick, named);
  if (call.driver->role == Role::graph_launch) after_graph_work(state, *flight, slot, tick);
  if (effect.transfer && effect.arguments.decoded) {
    if (effect.destination.kind != MemoryKind::device) note_written(state, effect.destination, slot, tick);
    if (!effect.arguments.fill && effect.source.kind != MemoryKind::device)
      note_read(state, effect.source, slot, tick);
  }
  return tick;
}

void after_variable(State& state, AddressRange range, bool managed) {
  // Kernels need no argument to reach it: all of the module's do, and which those are is not kept.
  state.variables = true;
  const Allocation* known = state.memory.find(range.begin);
  if (known && known->variable == managed && known->name == kVariables) return;  // asked for before
  Allocation variable{};
  variable.range = range;
  variable.kind = managed ? MemoryKind::managed : MemoryKind::device;
  variable.variable = managed;
  variable.name = kVariables;
  if (range.empty() || !state.memory.add(variable)) {
    if (!range.empty()) count_drop(Drop::objects_full);
    if (managed) state.kernel_reasons |= kUnknownMemory;
    state.unnamed_memory = true;
    return;
  }
  if (managed) give_to_kernels(state, variable);
}

void after_device_pointer(State& state, const Call& call) {
  if (const Allocation* known = state.memory.find(call.argument(1))) give_to_kernels(state, *known);
  auto* device = call.pointer<const uint64_t*>(0);
  if (!device || *device != call.argument(1)) state.unnamed_memory = true;
}

void after_allocation(State& state, const Call& call, uint32_t region_reasons, uint64_t context,
                      const AllocationArguments& allocation) {
  if (allocation.released) {
    state.memory.remove(allocation.address);
    state.named.released(allocation.address);
    return;
  }
  Allocation made{};
  made.range = AddressRange::of(allocation.address, allocation.bytes);
  made.kind = allocation.kind;
  made.context = context;
  made.stream_ordered = call.driver->stream_argument >= 0;
  made.unguardable = region_reasons;
  made.name = state.named.name_of(allocation.address);
  made.read_at = state.pages_taken;  // the CPU has written nothing there
  if (!state.memory.add(made)) {
    // From now on, memory that is not here is not known: host memory may be anything.
    count_drop(Drop::objects_full);
    state.work_reasons |= kUnknownMemory;
    state.unnamed_memory = true;
    return;
  }
  bool mapped = false;
  if (call.driver->arguments == Arguments::allocate_flags && made.kind == MemoryKind::pinned)
    mapped = (call.argument(2) & CU_MEMHOSTALLOC_DEVICEMAP) != 0;
  if (call.driver->arguments == Arguments::register_host)
    mapped = (call.argument(2) & CU_MEMHOSTREGISTER_DEVICEMAP) != 0;
  if (made.kind == MemoryKind::managed || mapped) give_to_kernels(state, made);
}

}  // namespace diogenes::agent
