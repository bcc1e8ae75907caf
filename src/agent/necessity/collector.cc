// Before and after each call. Both read what they need outside the lock first, then update the tables under
// it:
//
//   before  describe the call | order of new work, scope of waits, memory that the driver is about to use |
//   hash after   tick, effects on memory | hash | touches so far, then what the wait covered
//
// What a call covers was given to the GPU before it was entered; what it adds counts from its return. So of
// two threads' calls that overlap, neither is believed to be ordered before the other.
#include "agent/necessity/collector.h"

#include <cstring>

#include "agent/driver_calls.h"
#include "agent/necessity/describe.h"
#include "agent/necessity/regions.h"
#include "agent/necessity/state.h"
#include "agent/recorder.h"

namespace diogenes::agent {

namespace {

alignas(64) unsigned char storage[sizeof(State)];  // all zeros is the start of every table

bool is_stream_destroy(const Call& call) {
  return call.driver->role == Role::stream && operation_starts(call, "cuStreamDestroy");
}

bool is_event_destroy(const Call& call) {
  return call.driver->role == Role::event && operation_starts(call, "cuEventDestroy");
}

// These end all that lives in a context, allocations included.
bool ends_context(const Call& call) {
  return call.driver->role == Role::context &&
         (operation_starts(call, "cuCtxDestroy") || operation_starts(call, "cuCtxDetach") ||
          operation_starts(call, "cuDevicePrimaryCtxRe") || operation_starts(call, "cuGreenCtxDestroy")) &&
         !operation_has(call, "Retain");
}

Flight* take_flight(State& state) {
  for (int i = 0; i < kMaximumFlights; ++i) {
    int at = (state.next_flight + i) % kMaximumFlights;
    if (state.flights[at].used) continue;
    state.next_flight = (at + 1) % kMaximumFlights;
    state.flights[at].used = true;
    return &state.flights[at];
  }
  count_drop(Drop::objects_full);
  return nullptr;
}

uint32_t number_of(const State& state, const Flight& flight) {
  return static_cast<uint32_t>(&flight - state.flights) + 1;
}

// All streams of the context: `sure` of the certain ones, blocking or not.
void scope_context(const State& state, uint64_t context, bool non_blocking_too, Flight& flight) {
  flight.scoped = true;
  flight.doubt = Doubt::context;
  flight.context = context;
  flight.clock.clear();
  if (context == 0) {
    flight.doubt = Doubt::everything;
    return;
  }
  for (int i = 0; i < state.order.width(); ++i) {
    Slot slot = static_cast<Slot>(i);
    const Stream& stream = state.order[slot];
    if (!stream.certain || stream.context != context || stream.state == Stream::unused) continue;
    if (!stream.blocking && !non_blocking_too) continue;
    // With its last work, all that it was ordered after is done, too.
    flight.clock.join(stream.clock);
    flight.clock.raise(slot, stream.ticks);
  }
  if (non_blocking_too) {
    // Nothing of this context is left out; only streams whose context is not known stay in doubt.
    flight.doubt = Doubt::blocking_streams;
    flight.context = 0;
  }
}

void scope_event(State& state, uint64_t handle, Flight& flight) {
  flight.scoped = true;
  flight.clock.clear();
  flight.doubt = Doubt::everything;
  Event* event = state.order.find_event(handle);
  if (!event || state.events_undecidable) return;
  if (event->recorded) flight.clock.assign(event->clock);
  if (!event->doubtful) flight.doubt = Doubt::nothing;
}

// Does the legacy stream's own last work stand for the other blocking streams of its context? New work would
// wait for them; that a wait or an event without new work does is not documented.
bool others_are_ahead(const State& state, Slot legacy) {
  const Stream& stream = state.order[legacy];
  for (int i = 0; i < state.order.width(); ++i) {
    const Stream& other = state.order[static_cast<Slot>(i)];
    if (i != legacy && (!other.certain || (other.context == stream.context && other.blocking)) &&
        other.ticks > stream.clock[static_cast<Slot>(i)])
      return true;
  }
  return false;
}

void scope_stream(State& state, Flight& flight) {
  flight.scoped = true;
  flight.doubt = Doubt::nothing;
  if (flight.slot == kNoSlot) {
    flight.clock.clear();
    flight.doubt = Doubt::everything;
    return;
  }
  state.order.everything_in(flight.slot, flight.clock);
  const Stream& stream = state.order[flight.slot];
  flight.context = stream.context;
  if (stream.legacy && others_are_ahead(state, flight.slot)) flight.doubt = Doubt::blocking_streams;
  if (!stream.certain) flight.doubt = Doubt::nothing;  // a user stream by its handle: its own work is sure
}

// The scope of the wait inside a release, an unregistration or a module's load, as measured
// (docs/measurements.md).
void scope_implicit(State& state, const Call& call, uint64_t current, Flight& flight) {
  bool measured = operation_starts(call, "cuModuleLoad") || operation_starts(call, "cuModuleUnload");
  bool free_device = false;
  uint64_t context = current;
  if (call.driver->arguments == Arguments::release || call.driver->arguments == Arguments::unregister_host) {
    const Allocation* allocation = state.memory.find(call.argument(0));
    measured = allocation && !allocation->stream_ordered;
    if (measured) context = allocation->context;
    free_device = operation_starts(call, "cuMemFree") && !operation_has(call, "Host");
  }
  if (measured) {
    scope_context(state, context, free_device, flight);
  } else {
    flight.scoped = true;
    flight.clock.clear();
    flight.doubt = Doubt::everything;
  }
}

void note_sharing(State& state, const Call& call) {
  if (call.driver->role != Role::mapping && call.driver->role != Role::event &&
      call.driver->role != Role::graph)
    return;
  if (operation_starts(call, "cuIpc") || operation_has(call, "Shareable") ||
      operation_has(call, "ImportExternal") || operation_starts(call, "cuMulticast") ||
      operation_has(call, "ImportPointer"))
    state.work_reasons |= kSharedMemory;
  if (call.driver->role == Role::graph && operation_has(call, "EventRecordNode"))
    state.events_undecidable = true;
  if (call.driver->role == Role::graph && (operation_has(call, "AddNode") || operation_has(call, "Clone")))
    state.events_undecidable = true;  // of a kind that is not read
}

void before_memory(State& state, const Call& call, Flight& flight) {
  Effect& effect = flight.effect;
  int width = state.order.width();
  uint32_t number = number_of(state, flight);
  int64_t now = monotonic_now().count;
  if (effect.given.unknown)
    state.memory.for_each_host([&](const Allocation& allocation) { give_to_kernels(state, allocation); });
  for (int i = 0; i < effect.given.count; ++i)
    if (const Allocation* allocation = state.memory.find(effect.given.address[i]))
      give_to_kernels(state, *allocation);
  if (effect.transfer && effect.arguments.decoded) {
    if (effect.from_host() && !effect.arguments.fill) {
      Use by_device{kDeviceReuse, now, effect.source.range.begin, call.stack};
      state.watches.use(effect.source.range, by_device);
      state.shared.use(effect.source.range, by_device, state.sequence, width);
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
  AllocationArguments allocation;
  if (call.driver->arguments == Arguments::release && read_allocation(call, &allocation)) {
    if (const Allocation* known = state.memory.find(allocation.address);
        known && known->kind != MemoryKind::device) {
      state.watches.suspend(known->range, true, number);
      state.shared.suspend(known->range, number, state.sequence, width);
      state.duplicates.forget_copies(known->range);
    }
  }
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
  if (side.kind == MemoryKind::registered && side.range.size() < kSmallestPageable) reasons |= kSmallRange;
  if (side.kind == MemoryKind::pageable && state.order[slot].page_tables) reasons |= kGuardRefused;
  if (side.range.empty()) reasons |= kUndecoded;
  if (reasons == 0 &&
      !state.watches.add(side.range, Protection::no_access, side.kind == MemoryKind::pinned, slot, tick))
    reasons = kUndecoded;
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
  if (side.kind == MemoryKind::registered && side.range.size() < kSmallestPageable) reasons |= kSmallRange;
  if (reasons == 0 &&
      !state.watches.add(side.range, Protection::read_only, side.kind == MemoryKind::pinned, slot, tick))
    reasons = kUndecoded;
  if (reasons) state.unwatchable.note(slot, tick, reasons);
}

// Gives the stream its work. Returns its tick; 0: none.
Tick after_work(State& state, const Flight* flight) {
  if (!flight || flight->slot == kNoSlot) {
    state.undecidable = true;
    return 0;
  }
  const Effect& effect = flight->effect;
  Slot slot = flight->slot;
  Tick tick = state.order.submit(slot, flight->clock);
  uint32_t reasons = effect.reasons | state.work_reasons;
  if (effect.kernel) {
    state.shared.note_kernel(slot, tick);
    reasons |= state.kernel_reasons;
    if (state.order[slot].page_tables) reasons |= kUnknownMemory;
  }
  if (reasons) state.unwatchable.note(slot, tick, reasons);
  if (effect.transfer && effect.arguments.decoded) {
    if (effect.destination.kind != MemoryKind::device) note_written(state, effect.destination, slot, tick);
    if (!effect.arguments.fill && effect.source.kind != MemoryKind::device)
      note_read(state, effect.source, slot, tick);
  }
  return tick;
}

void after_allocation(State& state, const Call& call, uint32_t region_reasons, uint64_t context,
                      const AllocationArguments& allocation) {
  if (allocation.released) {
    state.memory.remove(allocation.address);
    return;
  }
  Allocation made{};
  made.range = AddressRange::of(allocation.address, allocation.bytes);
  made.kind = allocation.kind;
  made.context = context;
  made.stream_ordered = call.driver->stream_argument >= 0;
  made.unguardable = region_reasons;
  if (!state.memory.add(made)) {
    // From now on, memory that is not here is not known: host memory may be anything.
    count_drop(Drop::objects_full);
    state.work_reasons |= kUnknownMemory;
    return;
  }
  bool mapped = false;
  if (call.driver->arguments == Arguments::allocate_flags && made.kind == MemoryKind::pinned)
    mapped = (call.argument(2) & CU_MEMHOSTALLOC_DEVICEMAP) != 0;
  if (call.driver->arguments == Arguments::register_host)
    mapped = (call.argument(2) & CU_MEMHOSTREGISTER_DEVICEMAP) != 0;
  if (made.kind == MemoryKind::managed || mapped) give_to_kernels(state, made);
}

void after_objects(State& state, const Call& call, const Flight* flight, uint64_t context, uint64_t created) {
  switch (call.driver->arguments) {
    case Arguments::stream_create: {
      StreamName name{created, 0, 0};
      Slot old = state.order.find(name);
      if (old != kNoSlot) state.order.destroy(old);
      Slot slot = state.order.add(
          name, context, (call.argument(1) & CU_STREAM_NON_BLOCKING) == 0, context != 0,
          [&state](Slot used) { return state.instances.settle(used, state.order[used].ticks); });
      if (slot == kNoSlot) count_drop(Drop::objects_full);
      break;
    }
    case Arguments::event_create:
      state.order.forget_event(created);
      if (!state.order.find_or_add_event(created)) count_drop(Drop::objects_full);
      break;
    case Arguments::event_record: {
      Event* event = state.order.find_or_add_event(call.argument(0));
      if (!event) {
        count_drop(Drop::objects_full);
        break;
      }
      event->clock.clear();
      event->recorded = true;
      event->doubtful = !flight || flight->doubt != Doubt::nothing;
      if (flight) event->clock.assign(flight->clock);
      break;
    }
    case Arguments::stream_wait:
      // What the event stood for when the call was entered; a handle that was recorded again counts less, not
      // more.
      if (flight && flight->slot != kNoSlot) state.order[flight->slot].clock.join(flight->clock);
      break;
    default:
      if (call.driver->role == Role::event_record) state.events_undecidable = true;  // of a whole context
      break;
  }
}

// Calls of a stream under capture do no work now. What they do later is the graph's.
void after_captured(State& state, const Call& call) {
  if (call.driver->arguments != Arguments::event_record || !call.succeeded()) return;
  LockGuard guard(state.lock);
  if (Event* event = state.order.find_or_add_event(call.argument(0)))
    event->doubtful = true;
  else
    state.events_undecidable = true;
}

// EndCapture ends it also where it fails: the capture was invalid.
void count_captures(State& state, const Call& call) {
  LockGuard guard(state.lock);
  if (operation_starts(call, "cuStreamBeginCapture") && call.succeeded()) ++state.captures;
  if (operation_starts(call, "cuStreamEndCapture") && state.captures > 0) --state.captures;
}

bool is_wait(const Call& call) {
  return call.succeeded() && call.driver->role != Role::query &&
         (call.driver->role == Role::synchronize || call.waited_at_all());
}

bool may_wait_with_scope(const Call& call) {
  return call.driver->role == Role::release || call.driver->role == Role::registration ||
         call.driver->role == Role::module;
}

void before_order(State& state, Call& call, Flight& flight) {
  const Effect& effect = flight.effect;
  flight.scoped = false;
  flight.doubt = Doubt::nothing;
  flight.context = effect.context;
  flight.clock.clear();
  if (effect.work && flight.slot != kNoSlot) {
    state.order.before_next_in(flight.slot, flight.clock);
    state.instances.order(flight.slot, flight.clock, state.order.width());
  } else if (call.driver->role == Role::synchronize) {
    if (call.driver->stream_of == StreamOf::event)
      scope_event(state, call.argument(0), flight);
    else if (call.driver->stream_of == StreamOf::context)
      scope_context(state,
                    call.driver->arguments == Arguments::context && call.argument(0) ? call.argument(0)
                                                                                     : effect.context,
                    true, flight);
    else
      scope_stream(state, flight);
  } else if (call.driver->role == Role::event_record && effect.names_stream) {
    scope_stream(state, flight);
    flight.scoped = false;
    if (operation_has(call, "WithFlags") && (call.argument(2) & CU_EVENT_RECORD_EXTERNAL))
      flight.doubt = Doubt::everything;
  } else if (call.driver->arguments == Arguments::stream_wait && flight.slot != kNoSlot) {
    Event* event = state.order.find_event(call.argument(1));
    if (event && event->recorded && !state.events_undecidable) flight.clock.assign(event->clock);
  } else if (may_wait_with_scope(call)) {
    scope_implicit(state, call, effect.context, flight);
  }
}

}  // namespace

State& necessity_state() { return *reinterpret_cast<State*>(storage); }

void give_to_kernels(State& state, const Allocation& allocation) {
  uint32_t reasons = allocation.unguardable;
  if (allocation.kind == MemoryKind::device) return;
  if (allocation.kind == MemoryKind::registered && allocation.range.size() < kSmallestPageable)
    reasons |= kSmallRange;
  if (reasons == 0 && !state.shared.add(allocation.range, state.sequence)) {
    count_drop(Drop::objects_full);
    reasons = kUnknownMemory;
  }
  state.kernel_reasons |= reasons;
}

void start_necessity(Stage stage) {
  State& state = necessity_state();
  if (state.started) state.lock.reset();  // in a forked child its holder does not exist
  LockGuard guard(state.lock);
  state.watches.attach(&state.instances, &state.unwatchable);
  state.shared.attach(&state.instances);
  if (state.started) {
    state.order.reset();
    state.instances.reset();
    state.unwatchable.reset();
    state.watches.reset();
    state.shared.reset();
    state.memory.reset();
    state.kernels.reset();
    state.duplicates.reset();
    reset_staging();
    for (auto& flight : state.flights) flight.used = false;
    state.sequence = 0;
    state.undecidable = state.events_undecidable = false;
    state.work_reasons = state.kernel_reasons = 0;
    state.captures = 0;
  }
  state.started = true;
  state.stage = stage;
}

void necessity_before(Call& call) {
  State& state = necessity_state();
  call.in_flight = 0;
  if ((call.flags & kCapturing) || is_idle_role(call) || call.driver->role == Role::capture) return;
  if (call.driver->role == Role::context && !ends_context(call)) return;
  Flight* flight;
  {
    LockGuard guard(state.lock);
    note_sharing(state, call);
    flight = take_flight(state);
    if (!flight) return;
  }
  call.in_flight = number_of(state, *flight);
  flight->transfer = {};
  describe(state, call, flight->effect);
  flight->slot = slot_of(state, flight->effect, state.captures == 0);
  {
    LockGuard guard(state.lock);
    before_order(state, call, *flight);
    before_memory(state, call, *flight);
    if (is_stream_destroy(call) && flight->slot != kNoSlot) state.order.destroy(flight->slot);
    if (is_event_destroy(call)) state.order.forget_event(call.argument(0));
    if (ends_context(call)) {
      state.watches.give_up_all();
      state.shared.give_up_all(state.sequence, state.order.width());
      if (call.driver->arguments == Arguments::context) state.order.destroy_context(call.argument(0));
    }
  }
  if (ends_context(call)) forget_staging(state);
  if (state.hashing() && flight->effect.transfer) hash_before(state, call, *flight);
}

void necessity_after(Call& call) {
  State& state = necessity_state();
  if (call.driver->role == Role::capture) {
    count_captures(state, call);
    return;
  }
  if (call.flags & kCapturing) {
    after_captured(state, call);
    return;
  }
  if (is_idle_role(call)) return;
  bool succeeded = call.succeeded(), wait = is_wait(call);
  Flight* flight = call.in_flight ? &state.flights[call.in_flight - 1] : nullptr;

  // What the driver wrote for the program, and what only the kernel knows.
  AllocationArguments allocation;
  bool allocates = succeeded && read_allocation(call, &allocation);
  bool creates = succeeded && (call.driver->arguments == Arguments::stream_create ||
                               call.driver->arguments == Arguments::event_create);
  auto* out = creates ? call.pointer<const uint64_t*>(0) : nullptr;
  uint64_t created = out ? *out : 0;
  uint64_t context = (allocates && !allocation.released) || creates ? current_context() : 0;
  uint32_t region_reasons = 0;
  if (allocates && !allocation.released && allocation.kind == MemoryKind::registered) {
    Region region = region_of(AddressRange::of(allocation.address, allocation.bytes));
    if (region != Region::private_memory)
      region_reasons = region == Region::shared_memory ? kSharedMemory
                       : region == Region::stack       ? kSmallRange
                                                       : kGuardRefused;
  }
  bool host_handle = false;
  if (succeeded && operation_starts(call, "cuMemCreate"))
    if (auto* properties = call.pointer<const int*>(2))
      host_handle = properties[2] >= CU_MEM_LOCATION_TYPE_HOST;
  if (succeeded && call.driver->role == Role::module && operation_has(call, "Unload"))
    state.kernels.forget_functions();

  Tick tick = 0;
  {
    LockGuard guard(state.lock);
    if (host_handle) state.kernel_reasons |= kUnknownMemory;
    if (flight) {
      state.watches.end_suspension(call.in_flight, succeeded);
      state.shared.end_suspension(call.in_flight, succeeded, state.sequence, state.order.width());
    }
    if (succeeded && allocates) after_allocation(state, call, region_reasons, context, allocation);
    if (succeeded) {
      after_objects(state, call, flight, context, created);
      if (call.driver->arguments == Arguments::host_pointer)
        if (const Allocation* known = state.memory.find(call.argument(1))) give_to_kernels(state, *known);
      if (flight ? flight->effect.work : is_work(call)) tick = after_work(state, flight);
    }
  }
  if (state.hashing() && flight) {
    hash_after(state, call, *flight, tick);
    if (wait && (flight->scoped || flight->effect.covers_earlier)) {
      bool ready;
      {
        LockGuard guard(state.lock);
        ready = state.duplicates.has_ready(flight->clock);
      }
      if (ready) hash_covered(state, flight->clock);
    }
  }
  if (wait) {
    LockGuard guard(state.lock);
    state.watches.collect_touches();
    state.shared.collect_touches(state.sequence, state.order.width());
    InstanceIndex instance = cover(state, call, flight, tick);
    call.in_flight = instance == kNoInstance ? 0 : instance + 1u;
  } else {
    call.in_flight = 0;
  }
  if (flight) {
    LockGuard guard(state.lock);
    if (succeeded && call.driver->arguments == Arguments::unregister_host)
      state.shared.retire(call.argument(0));
    flight->used = false;
  }
}

void necessity_returning(const Call& call) {
  if (call.in_flight == 0) return;
  State& state = necessity_state();
  LockGuard guard(state.lock);
  state.instances.returned(static_cast<InstanceIndex>(call.in_flight - 1), call.id, monotonic_now());
}

void finish_necessity() {
  State& state = necessity_state();
  hash_rest(state);
  LockGuard guard(state.lock);
  state.watches.collect_touches();
  state.shared.collect_touches(state.sequence, state.order.width());
  state.instances.close_all(state.order.width());
}

}  // namespace diogenes::agent
