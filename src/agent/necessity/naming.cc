// Which memory a call's work names (named_memory.h). Whatever is not certain is 'anything'.
//
// Not seen, and so the condition of a verdict that rests on this: memory that a kernel reaches by an address
// which another kernel put where it finds it, or the CPU in managed or mapped memory of which a launch gives
// more than is read (given_contents.h); module variables whose address was never asked for.
#include "agent/necessity/state.h"

namespace diogenes::agent {

void name_given(State& state, Flight& flight) {
  Named& named = flight.named;
  const GivenAddresses& given = flight.given;
  named.kernel = true;
  named.anything |= given.unknown || state.unnamed_memory ||
                    (flight.slot != kNoSlot && state.order[flight.slot].page_tables);
  bool pointers = false;
  for (int i = 0; i < given.count; ++i) {
    const Allocation* allocation = allocation_near(state, given.address[i]);
    if (allocation) {
      named.add(allocation->name, true);
      if (allocation->kind == MemoryKind::registered) named.add_host(allocation->range, true);
      if (allocation->name == kNoName) named.anything = true;
      pointers |= allocation->holds_pointers;
    } else if (state.memory.device_bounds().contain(given.address[i])) {
      named.anything = true;
    }
  }
  // What is not given any memory works on what it has otherwise.
  if (named.count == 0) named.anything = true;
  if (state.variables) named.add(kVariables, true);
  if (!pointers) return;
  // It may pass them on.
  named.anything = true;
  for (int i = 0; i < given.count; ++i) state.memory.mark_pointers(given.address[i]);
  if (state.variables) state.unnamed_memory = true;
}

namespace {

// False: where the GPU reaches memory that is not known.
bool name_side(const State& state, const Side& side, uint64_t address, bool written, Named& named) {
  const Allocation* allocation = state.memory.find(address);
  bool pageable = allocation ? allocation->kind == MemoryKind::registered : side.kind == MemoryKind::pageable;
  if (pageable) {
    if (side.range.empty()) return false;
    // What is pageable was read when the call returned.
    if (written || allocation) named.add_host(side.range, written);
  }
  if (!allocation) return pageable;
  named.add(allocation->name, written);
  return allocation->name != kNoName;
}

void name_transfer(State& state, Flight& flight) {
  const Effect& effect = flight.effect;
  Named& named = flight.named;
  if (!effect.transfer || !effect.arguments.decoded ||
      (flight.slot != kNoSlot && state.order[flight.slot].page_tables)) {
    named.anything = true;
    return;
  }
  uint64_t to = effect.arguments.destination, from = effect.arguments.source;
  if (!name_side(state, effect.destination, to, true, named)) named.anything = true;
  if (effect.arguments.fill) return;
  if (!name_side(state, effect.source, from, false, named)) named.anything = true;
  const Allocation* source = state.memory.find(from);
  if (source && source->holds_pointers && state.memory.find(to)) note_pointers(state, to);
}

}  // namespace

AddressBounds bounds_of(State& state) {
  LockGuard guard(state.lock);
  return state.memory.bounds();
}

const Allocation* allocation_near(const State& state, uint64_t word) {
  if (const Allocation* found = state.memory.find(word)) return found;
  return state.memory.find(word + AddressBounds::kBelow);
}

void name_work(State& state, const Call& call, Flight& flight) {
  Named& named = flight.named;
  named.clear();
  if (!flight.effect.work) return;
  switch (call.driver->role) {
    case Role::launch:
      name_given(state, flight);
      break;
    case Role::graph_launch:
      name_graph(state, call, flight);
      break;
    case Role::transfer:
    case Role::fill:
      name_transfer(state, flight);
      break;
    case Role::release:
      if (const Allocation* allocation = state.memory.find(call.argument(0)))
        named.add(allocation->name, true);
      else
        named.anything = true;
      break;
    case Role::allocate:  // named by its result, in after_work()
    case Role::prefetch:  // moves memory, and changes none
      break;
    default:
      named.anything = true;
      break;
  }
}

void note_pointers(State& state, uint64_t destination) {
  // Variables are within every kernel's reach.
  const Allocation* allocation = state.memory.find(destination);
  if (allocation && allocation->name != kVariables)
    state.memory.mark_pointers(destination);
  else
    state.unnamed_memory = true;
}

}  // namespace diogenes::agent
