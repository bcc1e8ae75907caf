// Before and after each call. Both read what they need outside the lock first, then update the tables under
// it:
//
//   before  describe the call | order of new work, scope of waits, memory that the driver is about to use |
//   hash after   tick, effects on memory | hash | touches so far, then what the wait covered
//
// What a call covers was given to the GPU before it was entered; what it adds counts from its return. So of
// two threads' calls that overlap, neither is believed to be ordered before the other.
#include "agent/necessity/collector.h"

#include <algorithm>
#include <cstring>

#include "agent/driver_calls.h"
#include "agent/guard/guards.h"
#include "agent/necessity/describe.h"
#include "agent/necessity/memory/regions.h"
#include "agent/necessity/state.h"
#include "agent/recorder.h"
#include "driver/cuda_abi.h"

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

// Synchronizations and blocking transfers cover what they cover also where they found all done, and entered
// no wait: how fast the GPU was in this run says nothing of who needs them.
bool is_wait(const Call& call, const Flight* flight) {
  if (!call.succeeded() || call.driver->role == Role::query) return false;
  if (call.driver->role == Role::synchronize || call.waited_at_all()) return true;
  return flight && flight->effect.covers_earlier && !call.driver->asynchronous;
}

}  // namespace

State& necessity_state() { return *reinterpret_cast<State*>(storage); }

void start_necessity(Stage stage, uint32_t watch_run, uint32_t watch_runs) {
  State& state = necessity_state();
  if (state.started) state.lock.reset();  // in a forked child its holder does not exist
  LockGuard guard(state.lock);
  state.watches.attach(&state.instances, &state.unwatchable, watch_run, std::max(1u, watch_runs));
  state.first_run = watch_run == 0;
  state.instances.tell_all_ranges(watch_run > 0);
  state.shared.attach(&state.instances);
  if (state.started) {
    state.order.reset();
    state.instances.reset();
    state.unwatchable.reset();
    state.watches.reset();
    state.shared.reset();
    state.memory.reset();
    state.named.reset();
    state.graphs.reset();
    state.kernels.reset();
    state.reading.reset();
    state.duplicates.reset();
    state.places.reset();
    state.unread.reset();
    state.unread_on_host.reset();
    reset_staging();
    for (auto& flight : state.flights) flight.used = false;
    state.sequence = state.pages_taken = 0;
    state.undecidable = state.events_undecidable = false;
    state.work_reasons = state.kernel_reasons = 0;
    state.unnamed_memory = state.variables = false;
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
  flight->graph = nullptr;
  if (call.driver->role == Role::graph) before_graph_call(state, call);
  flight->transfer = {};
  flight->kept = {};
  describe(state, call, flight->effect, flight->given);
  flight->slot = slot_of(state, flight->effect, state.captures == 0);
  flight->blocks.clear();
  if (call.driver->role == Role::graph_launch) {
    LockGuard guard(state.lock);
    give_graph(state, call, *flight);
  }
  if (call.driver->role == Role::launch || call.driver->role == Role::graph_launch)
    read_given_blocks(state, *flight);
  {
    LockGuard guard(state.lock);
    name_work(state, call, *flight);
    before_order(state, call, *flight);
    note_pages_taken(state, call, *flight);
    before_memory(state, call, *flight);
    if (state.hashing()) before_unread(state, call, *flight);
    if (is_stream_destroy(call) && flight->slot != kNoSlot) state.order.destroy(flight->slot);
    if (is_event_destroy(call)) state.order.forget_event(call.argument(0));
    if (ends_context(call)) {
      state.watches.give_up_all();
      state.unread.give_up();
      state.unread_on_host.forget({0, ~0ull});
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
  bool succeeded = call.succeeded();
  Flight* flight = call.in_flight ? &state.flights[call.in_flight - 1] : nullptr;
  bool wait = is_wait(call, flight);

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
  bool is_variable = succeeded && call.driver->arguments == Arguments::global;
  AddressRange variable;
  if (is_variable) {
    // Managed ones were read as allocations, with the size that the driver tells where the program does not
    // ask.
    auto *address = call.pointer<const uint64_t*>(0), *bytes = call.pointer<const uint64_t*>(1);
    variable = allocates          ? AddressRange::of(allocation.address, allocation.bytes)
               : address && bytes ? AddressRange::of(*address, *bytes)
                                  : AddressRange{};
  }
  bool host_handle = false;
  if (succeeded && operation_starts(call, "cuMemCreate"))
    if (auto* properties = call.pointer<const int*>(2))
      host_handle = properties[2] >= CU_MEM_LOCATION_TYPE_HOST;
  if (succeeded && call.driver->role == Role::module && operation_has(call, "Unload"))
    state.kernels.forget_functions();

  if (succeeded && call.driver->role == Role::graph) after_graph_call(state, call);

  Tick tick = 0;
  {
    LockGuard guard(state.lock);
    AddressRange released;
    if (allocates && allocation.released && call.driver->arguments == Arguments::release)
      if (const Allocation* known = state.memory.find(allocation.address)) released = known->range;
    if (host_handle) state.kernel_reasons |= kUnknownMemory;
    if (flight) {
      state.watches.end_suspension(call.in_flight, succeeded);
      state.shared.end_suspension(call.in_flight, succeeded, state.sequence, state.order.width());
      state.unread_on_host.end(call.in_flight, succeeded, call.id);
    }
    if (is_variable)
      after_variable(state, variable, allocates);
    else if (allocates)
      after_allocation(state, call, region_reasons, context, allocation);
    if (succeeded) {
      after_objects(state, call, flight, context, created);
      if (call.driver->arguments == Arguments::host_pointer) after_device_pointer(state, call);
      if (flight ? flight->effect.work : is_work(call)) tick = after_work(state, call, flight);
      if (state.hashing())
        after_unread(state, call, flight, tick, released,
                     allocates && !allocation.released ? &allocation : nullptr);
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
    if (state.hashing()) settle_unread(state);
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
  collect_unseen();
  state.watches.collect_touches();
  state.shared.collect_touches(state.sequence, state.order.width());
  state.instances.close_all(state.order.width());
  if (state.hashing()) settle_unread(state);
}

}  // namespace diogenes::agent
