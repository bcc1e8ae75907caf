// What a wait covers, as far as it is known when the call is entered; the rest is a matter of doubt.
#include <cstring>

#include "agent/necessity/describe.h"
#include "agent/necessity/state.h"
#include "driver/cuda_abi.h"

namespace diogenes::agent {

namespace {

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
  bool unload = operation_starts(call, "cuModuleUnload");
  bool measured = operation_starts(call, "cuModuleLoad") || unload;
  bool non_blocking_too = unload;  // of a load it was not looked up
  uint64_t context = current;
  if (call.driver->arguments == Arguments::release || call.driver->arguments == Arguments::unregister_host) {
    const Allocation* allocation = state.memory.find(call.argument(0));
    measured = allocation && !allocation->stream_ordered;
    flight.in_use = allocation && state.watches.in_use(allocation->range);
    if (measured) context = allocation->context;
    non_blocking_too = true;
  }
  if (measured) {
    scope_context(state, context, non_blocking_too, flight);
  } else {
    flight.scoped = true;
    flight.clock.clear();
    flight.doubt = Doubt::everything;
  }
}

bool may_wait_with_scope(const Call& call) {
  return call.driver->role == Role::release || call.driver->role == Role::registration ||
         call.driver->role == Role::module;
}

}  // namespace

void before_order(State& state, const Call& call, Flight& flight) {
  const Effect& effect = flight.effect;
  flight.scoped = flight.in_use = false;
  flight.doubt = Doubt::nothing;
  flight.context = effect.context;
  flight.clock.clear();
  if (effect.work && flight.slot != kNoSlot) {
    // Whose uses came before this work: it may lean on them.
    state.watches.collect_touches();
    state.shared.collect_touches(state.sequence, state.order.width());
    state.order.before_next_in(flight.slot, flight.clock);
    state.instances.order(flight.slot, flight.clock, state.order.width(), flight.named, state.named);
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

}  // namespace diogenes::agent
