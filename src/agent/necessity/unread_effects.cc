// What calls do to data that nothing used yet.
#include "agent/necessity/describe.h"
#include "agent/necessity/state.h"

namespace diogenes::agent {

namespace {

constexpr AddressRange kEverything{0, ~uintptr_t{0}};

bool is_plain(const TransferArguments& arguments) {
  return arguments.height <= 1 || arguments.destination_pitch == arguments.width;
}

// Work whose memory is all in its arguments. Kernels on host memory are followed by give_to_kernels();
// graphs, arrays and batches may read any.
bool may_read_any_host_memory(const State& state, const Call& call, const Effect& effect) {
  if (call.driver->role == Role::launch && call.driver->arguments != Arguments::launch_list)
    return state.kernel_reasons != 0;
  switch (call.driver->role) {
    case Role::allocate:
    case Role::release:
    case Role::host_function:  // on the CPU: guards see it
      return false;
    default:
      return effect.kernel || (effect.work && !(effect.transfer && effect.arguments.decoded));
  }
}

// The allocations that a kernel is given, where it reaches no others.
void add_given(const State& state, const Flight& flight, DeviceAccess& access) {
  static AddressRange ranges[GivenAddresses::kMaximum];  // under the lock: large for the program's stacks
  access.by_arguments = true;
  access.given = ranges;
  for (int i = 0; i < flight.given.count; ++i)
    if (const Allocation* allocation = allocation_near(state, flight.given.address[i]))
      ranges[access.given_count++] = allocation->range;
}

DeviceAccess access_of(const State& state, const Call& call, const Flight& flight, Tick tick) {
  DeviceAccess access{.id = call.id, .stream = flight.slot, .tick = tick};
  const Effect& effect = flight.effect;
  switch (call.driver->role) {
    case Role::transfer:
    case Role::fill: {
      const TransferArguments& arguments = effect.arguments;
      access.anything = effect.kernel || !arguments.decoded;
      access.writes = AddressRange::of(arguments.destination, arguments.destination_span());
      access.writes_whole = is_plain(arguments);
      if (!arguments.fill && !is_host_side(effect.source.kind))
        access.reads = AddressRange::of(arguments.source, arguments.source_span());
      break;
    }
    case Role::allocate:
    case Role::release:
    case Role::host_function:
      break;
    case Role::launch:
      if (flight.named.anything)
        access.anything = true;
      else
        add_given(state, flight, access);
      break;
    default:
      access.anything = true;
  }
  return access;
}

// To known device memory, with nobody beside kernels and copies to read it.
bool is_upload(const State& state, const Call& call, const Effect& effect) {
  const TransferArguments& arguments = effect.arguments;
  if (!effect.transfer || !arguments.decoded || arguments.fill || arguments.bytes() == 0 ||
      !effect.copies_from_host(call) || effect.copies_to_host(call) ||
      effect.destination.kind != MemoryKind::device || !is_plain(arguments) || state.work_reasons != 0)
    return false;
  const Allocation* allocation = state.memory.find(arguments.destination);
  return allocation && !allocation->variable &&
         allocation->range.contains(AddressRange::of(arguments.destination, arguments.destination_span()));
}

// Nothing runs beside it that may read what it brings.
bool is_alone(const State& state, const Flight& flight, bool* rests) {
  for (int i = 0; i < state.order.width(); ++i) {
    Slot slot = static_cast<Slot>(i);
    if (slot == flight.slot) continue;
    if (state.named.latest_conflict(slot, flight.named, state.order[slot].ticks) > flight.order[slot])
      return false;
    *rests |= state.named.rests_on_arguments(slot, flight.order[slot], flight.named);
  }
  return true;
}

bool is_watchable_download(const State& state, const Call& call, const Flight& flight) {
  const Effect& effect = flight.effect;
  const Side& to = effect.destination;
  return flight.transfer.kind == TransferInFlight::to_host && effect.copies_to_host(call) &&
         is_host_side(to.kind) && to.unguardable == 0 && to.way == Way::pages && is_plain(effect.arguments) &&
         (to.kind != MemoryKind::pageable || !state.order[flight.slot].page_tables) &&
         state.kernel_reasons == 0 && state.work_reasons == 0 && !state.shared.contains(to.range);
}

}  // namespace

void before_unread(State& state, const Call& call, Flight& flight) {
  const Effect& effect = flight.effect;
  flight.order.assign(flight.clock);
  for (int i = 0; effect.work && i < state.order.width(); ++i)
    flight.order.raise(static_cast<Slot>(i), state.instances.known(static_cast<Slot>(i)));
  UnreadOnHost& downloads = state.unread_on_host;
  uint32_t number = number_of(state, flight);
  if (may_read_any_host_memory(state, call, effect)) downloads.forget(kEverything);
  if (effect.transfer && effect.arguments.decoded) {
    if (!effect.arguments.fill && effect.from_host()) downloads.read(effect.source.range);
    if (effect.to_host()) {
      if (is_plain(effect.arguments) && flight.slot != kNoSlot)
        downloads.overwritten(effect.destination.range, number, flight.order);
      else
        downloads.read(effect.destination.range);
    }
  }
  AllocationArguments allocation;
  if (call.driver->arguments == Arguments::release && read_allocation(call, &allocation))
    if (const Allocation* known = state.memory.find(allocation.address);
        known && known->kind != MemoryKind::device)
      downloads.released(known->range, number);
}

void after_unread(State& state, const Call& call, const Flight* flight, Tick tick, AddressRange released,
                  const AllocationArguments* made) {
  Unread& unread = state.unread;
  bool recorded = call.id.sequence != OperationId{}.sequence;
  if (state.undecidable || state.work_reasons != 0) {
    unread.give_up();
    state.unread_on_host.forget(kEverything);
  }
  bool work = flight && flight->effect.work && tick != 0;
  DeviceAccess access;
  if (work) {
    access = access_of(state, call, *flight, tick);
    unread.work(access, flight->order);
    bool rests = false;
    if (recorded && is_upload(state, call, flight->effect) && is_alone(state, *flight, &rests))
      unread.uploaded(access, rests);
  }
  if (!released.empty()) {
    if (work)
      unread.released_in_order(released, access, flight->order);
    else if (call.driver->stream_argument < 0)
      unread.released(released, call.id);
    else
      unread.give_up();
  }
  if (made && made->kind == MemoryKind::device && recorded && !state.undecidable && state.work_reasons == 0)
    unread.allocated(call.id, AddressRange::of(made->address, made->bytes), state.order.width(),
                     [&state](Slot slot) { return state.instances.known(slot); });
}

uint64_t download_site(const State& state, const Call& call, const Flight& flight) {
  return is_watchable_download(state, call, flight) ? (uint64_t{call.function} << 32) | call.stack : 0;
}

void settle_unread(State& state) {
  state.unread_on_host.collect_touches();
  if (state.unread.has_closing())
    state.unread.settle([&state](Slot slot) { return state.instances.known(slot); });
}

}  // namespace diogenes::agent
