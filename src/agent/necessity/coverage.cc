// What a synchronization covers, and what follows from it.
#include <cstring>

#include "agent/necessity/state.h"
#include "agent/recorder.h"
#include "agent/stack.h"

namespace diogenes::agent {

namespace {

bool may_cover(const State& state, const Flight* flight, Slot slot) {
  const Stream& stream = state.order[slot];
  switch (!flight                         ? Doubt::everything
          : flight->scoped                ? flight->doubt
          : flight->effect.covers_earlier ? Doubt::nothing
                                          : Doubt::everything) {
    case Doubt::nothing:
      return false;
    case Doubt::blocking_streams:
      return !stream.certain || (stream.context == flight->context && stream.blocking);
    case Doubt::context:
      return !stream.certain || stream.context == flight->context;
    case Doubt::everything:
      return true;
  }
  return true;
}

// What these calls wait for is their business, not only other work's end: no verdict on them.
bool waits_for_itself(const Call& call, bool new_work_covered) {
  switch (call.driver->role) {
    case Role::synchronize:
    case Role::transfer:
    case Role::fill:
    case Role::release:
    case Role::registration:
      return false;
    case Role::module:
      return !new_work_covered;
    default:
      return true;
  }
}

}  // namespace

InstanceIndex cover(State& state, const Call& call, const Flight* flight, Tick tick) {
  static Clock certain, reach;  // under the lock: large for the program's stacks
  int width = state.order.width();
  certain.clear();
  bool moves = flight && flight->effect.covers_earlier && flight->slot != kNoSlot;
  if (flight && (flight->scoped || moves)) certain.assign(flight->clock);
  // Where another thread gave the stream work while this call ran, the order of the two is not known.
  if (moves && flight->effect.covers_itself && tick == flight->clock[flight->slot] + 1)
    certain.raise(flight->slot, tick);
  bool recorded = call.id.sequence != OperationId{}.sequence &&
                  (state.stage == Stage::memory_tracing || site_is_planned(call.function, call.stack));
  InstanceIndex instance = state.instances.open(call.id, call.begin, call.end, recorded, state.hashing(),
                                                recorded && state.first_run);
  if (instance == kNoInstance) return kNoInstance;
  uint32_t sequence = ++state.sequence;
  bool new_work = false;
  reach.assign(certain);
  for (int i = 0; i < width; ++i) {
    Slot slot = static_cast<Slot>(i);
    Tick known = state.instances.known(slot), sure = certain[slot];
    auto claim = [&](Tick up_to, bool is_certain) {
      if (up_to > known) new_work = true;
      state.instances.credit(instance, state.unwatchable.covered(slot, known, up_to));
      // Kernels that were given device memory alone are taken not to have used what others share with the
      // host.
      if (up_to > known && !state.shared.empty() && state.named.kernel_behind(slot, known))
        state.instances.rest_on(instance, kConditionArguments);
      bool wrote = state.shared.covered(slot, known, up_to, is_certain, sequence);
      state.instances.claim(slot, up_to, instance, is_certain, wrote, sequence);
    };
    if (sure > 0) claim(sure, true);
    bool maybe = may_cover(state, flight, slot);
    // Its own work, where it may end after the call.
    if (moves && flight->slot == slot && tick > sure) maybe = true;
    Tick may = maybe ? state.order[slot].ticks : 0;
    if (may > sure) {
      claim(may, false);
      reach.raise(slot, may);
    }
  }
  state.shared.advance(certain);
  if (state.undecidable) state.instances.credit(instance, kUndecoded);
  if (call.printed) state.instances.rest_on(instance, kConditionPrints);
  if (flight && flight->in_use) state.instances.rest_on(instance, kConditionInUse);
  if (waits_for_itself(call, new_work)) state.instances.credit(instance, kOwnWork);
  if (recorded) {
    state.watches.guard_covered(reach, instance, call.stack);
    if (state.first_run) state.shared.guard_covered(reach, instance, sequence);
  }
  state.instances.opened(instance);
  return instance;
}

}  // namespace diogenes::agent
