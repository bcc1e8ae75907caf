// What a launch of an executable graph does, taken together as one piece of work. In: its nodes, as the
// driver tells them when the graph is instantiated or updated (graph_reader.cc). Out: the memory that kernels
// are given, the copies and fills, and what is not known of it.
//
// New parameters of one node are added to what the node did before: what no longer happens costs precision
// only. A graph that is not here, or does not fit, may do anything. Serialised by the collector's lock,
// except that an entry which nobody else knows is filled outside of it.
#pragma once
#include <cstdint>

#include "agent/call.h"
#include "agent/necessity/order/fixed_map.h"
#include "base/range.h"

namespace diogenes::agent {

struct State;
struct Flight;

struct GraphCopy {
  AddressRange destination, source;  // source: empty for a fill
  bool to_host, from_host;           // said to be host memory
};

struct GraphEffects {
  static constexpr int kWords = 128, kCopies = 64;
  uint32_t generation;  // counts the uses of the entry
  bool used;
  bool kernels;
  bool anything;     // may reach any memory
  uint32_t reasons;  // Reason bits of what cannot be watched
  uint16_t words, copies;
  uint64_t word[kWords];  // that kernels are given
  GraphCopy copy[kCopies];

  void clear();
  void unknown();
  void add_word(uint64_t address);
  void add_copy(const GraphCopy& copy);
};

class Graphs {
 public:
  static constexpr int kMaximum = 512;

  GraphEffects* find(uint64_t executable);
  // An entry that no graph has yet. Null: none is left.
  GraphEffects* reserve();
  void give(GraphEffects* effects, uint64_t executable);
  void forget(uint64_t executable);
  void drop(GraphEffects* effects) { effects->used = false; }
  void reset();

 private:
  GraphEffects effects_[kMaximum];
  FixedMap<uint16_t, 1024> by_executable_;
};

// After graph calls that succeeded: reads what was instantiated or updated. Outside the lock.
void after_graph_call(State& state, const Call& call);
// Before the call: what is destroyed has no effects any more. Outside the lock.
void before_graph_call(State& state, const Call& call);

// A launch (graph_effects.cc). Under the lock, in this order.
void give_graph(State& state, const Call& call, Flight& flight);  // what its kernels are given
void name_graph(State& state, const Call& call, Flight& flight);
void before_graph_memory(State& state, const Call& call, Flight& flight);
// Does it copy to or from managed memory, or may it?
bool graph_moves_managed(const State& state, const Flight& flight);
void after_graph_work(State& state, const Flight& flight, uint16_t slot, uint32_t tick);

}  // namespace diogenes::agent
