// Streams and events as they come, are recorded, waited for and captured.
#include "agent/necessity/describe.h"
#include "agent/necessity/state.h"
#include "agent/recorder.h"
#include "driver/cuda_abi.h"

namespace diogenes::agent {

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

}  // namespace diogenes::agent
