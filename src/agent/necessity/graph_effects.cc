// A graph's launch: what it names, the host memory that it writes and reads.
#include "agent/necessity/state.h"

namespace diogenes::agent {

namespace {

const GraphEffects* effects_of(const Flight& flight) {
  const GraphEffects* effects = flight.graph;
  if (!effects || (effects->used && effects->generation == flight.graph_generation)) return effects;
  return nullptr;
}

// One side of a copy, as the map of memory has it.
Side side_of(const State& state, AddressRange range, bool said_host) {
  Side side;
  side.range = range;
  if (const Allocation* allocation = state.memory.find(range.begin)) {
    side.kind = allocation->kind;
    side.unguardable = allocation->unguardable;
    side.range = range.intersection(allocation->range);
  } else {
    // Pageable memory, which the driver reads or writes at a time of its own.
    side.kind = said_host ? MemoryKind::pageable : MemoryKind::unknown;
    side.unguardable = kUndecoded;
  }
  return side;
}

bool is_watched(const Side& side) { return is_host_side(side.kind) || side.kind == MemoryKind::managed; }

}  // namespace

void give_graph(State& state, const Call& call, Flight& flight) {
  const GraphEffects* effects = state.graphs.find(call.argument(0));
  flight.graph = effects;
  flight.given.clear();
  if (!effects) return;
  flight.graph_generation = effects->generation;
  flight.graph_words = effects->words;
  for (int i = 0; i < effects->words; ++i) flight.given.address[flight.given.count++] = effects->word[i];
}

void name_graph(State& state, const Call& call, Flight& flight) {
  Effect& effect = flight.effect;
  Named& named = flight.named;
  GraphEffects* effects = state.graphs.find(call.argument(0));
  // Another thread may have changed it since.
  if (flight.graph != effects ||
      (effects && (flight.graph_generation != effects->generation || flight.graph_words != effects->words))) {
    give_graph(state, call, flight);
    flight.blocks.clear();
  }
  if (!effects) {
    effect.kernel = named.anything = true;
    effect.reasons |= kUndecoded;
    return;
  }
  effect.reasons |= effects->reasons;
  effect.kernel = effects->kernels || effects->anything;
  if (effects->kernels) name_given(state, flight);
  named.anything |= effects->anything;
  for (int i = 0; i < effects->copies; ++i) {
    const GraphCopy& copy = effects->copy[i];
    for (AddressRange range : {copy.destination, copy.source}) {
      if (range.empty()) continue;
      bool written = range == copy.destination;
      const Allocation* allocation = state.memory.find(range.begin);
      if (!allocation || allocation->name == kNoName)
        named.anything = true;
      else
        named.add(allocation->name, written);
      if (!allocation || allocation->kind == MemoryKind::registered) named.add_host(range, written);
    }
    const Allocation* source = state.memory.find(copy.source.begin);
    if (source && source->holds_pointers && state.memory.find(copy.destination.begin))
      note_pointers(state, copy.destination.begin);
  }
}

void before_graph_memory(State& state, const Call& call, Flight& flight) {
  const GraphEffects* effects = effects_of(flight);
  if (!effects) return;
  int64_t now = monotonic_now().count;
  for (int i = 0; i < effects->copies; ++i) {
    const GraphCopy& copy = effects->copy[i];
    Side to = side_of(state, copy.destination, copy.to_host);
    Side from = side_of(state, copy.source, copy.from_host);
    if (!copy.source.empty() && is_watched(from)) {
      Use by_device{kDeviceReuse, now, from.range.begin, call.stack};
      note_fetched_back(state, from.range, by_device, flight);
    }
    if (is_watched(to)) {
      state.watches.suspend(to.range, false, number_of(state, flight));
      state.duplicates.forget_copies(to.range);
    }
  }
}

bool graph_moves_managed(const State& state, const Flight& flight) {
  const GraphEffects* effects = effects_of(flight);
  if (!effects) return true;
  for (int i = 0; i < effects->copies; ++i)
    for (const AddressRange& range : {effects->copy[i].destination, effects->copy[i].source}) {
      if (range.empty()) continue;
      const Allocation* allocation = state.memory.find(range.begin);
      if (!allocation || allocation->kind == MemoryKind::managed) return true;
    }
  return false;
}

void after_graph_work(State& state, const Flight& flight, Slot slot, Tick tick) {
  const GraphEffects* effects = effects_of(flight);
  if (!effects) {
    if (flight.graph) state.unwatchable.note(slot, tick, kUndecoded);
    return;
  }
  for (int i = 0; i < effects->copies; ++i) {
    const GraphCopy& copy = effects->copy[i];
    Side to = side_of(state, copy.destination, copy.to_host);
    to.name = static_cast<uint64_t>(i) + 1;
    if (to.kind != MemoryKind::device) note_written(state, to, slot, tick);
    if (copy.source.empty()) continue;
    Side from = side_of(state, copy.source, copy.from_host);
    from.name = static_cast<uint64_t>(i) + 1;
    if (from.kind == MemoryKind::pageable || from.kind == MemoryKind::unknown)
      state.unwatchable.note(slot, tick, from.unguardable);
    else if (from.kind != MemoryKind::device)
      note_read(state, from, slot, tick);
  }
}

}  // namespace diogenes::agent
