// What a launch of an executable graph does, taken together as one piece of work. In: its nodes, as the
// driver tells them when the graph is instantiated or updated (graph_reader.cc). Out, at each launch:
// operands, by the memory that there is then: what is registered or allocated after the instantiation counts,
// too.
//
// New parameters of one node are added to what the node did before: what no longer happens costs precision
// only. A graph that is not here, or does not fit, may do anything. Serialised by the collector's lock,
// except that an entry which nobody else knows is filled outside of it.
#pragma once
#include <cstdint>

#include "agent/core/calls/call.h"
#include "agent/core/memory/kernel_arguments.h"
#include "base/fixed_map.h"
#include "base/range.h"

namespace diogenes::agent::facts {

struct State;
struct DecodedCall;

struct GraphCopy {
  AddressRange destination, source;  // source: empty for a fill
  bool to_host, from_host;           // said to be host memory
};

struct GraphContent {
  static constexpr int kCopies = 64;
  bool used;
  bool kernels;
  uint32_t flags;                    // OperandListFlag: what is not listed
  KernelAddresses kernel_addresses;  // words that kernels get
  uint16_t copy_count;
  GraphCopy copies[kCopies];

  void clear();
  void unknown();  // may do anything
  void add_word(uint64_t word);
  void add_copy(const GraphCopy& copy);
};

class Graphs {
 public:
  static constexpr int kMaximum = 512;

  GraphContent* find(uint64_t executable);
  GraphContent* reserve();  // an entry that no graph has yet; null: none is left
  void put(GraphContent* content, uint64_t executable);
  void forget(uint64_t executable);
  void reset();

 private:
  GraphContent contents_[kMaximum];
  FixedMap<uint16_t, 1024> by_executable_;
};

// After graph calls that succeeded: reads what was instantiated or updated. Outside the lock.
void after_graph_call(const Call& call);
// Before the call: what is destroyed is known no more. Outside the lock.
void before_graph_call(const Call& call);
// A launch: fills in what it does. Outside the lock.
void decode_graph_launch(const Call& call, DecodedCall& decoded);

}  // namespace diogenes::agent::facts
