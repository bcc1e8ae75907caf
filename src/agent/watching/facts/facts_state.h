// What is known of the process: its memory and its graphs. All zeros is the start.
#pragma once
#include "agent/core/calls/call.h"
#include "agent/core/lock.h"
#include "agent/core/memory/kernel_arguments.h"
#include "agent/watching/facts/decoding/graph_table.h"
#include "agent/watching/facts/ranges/driver_memory.h"

namespace diogenes::agent::facts {

struct State {
  Lock lock;  // of what follows, up to the next that has its own
  MemoryMap memory;
  Graphs graphs;
  bool unlisted_memory;  // kernels reach memory that no allocation gave: textures, mappings of others
  bool unlisted_host;    // ... some of which the host may share
  bool variables;        // device variables of modules are known
  bool found;            // some allocation is, or was (Allocation::found)
  bool unnamed_reached;  // kernels reach the host's memory that is not named, too (Allocation::named)
  int shared;            // allocations that kernels and the host share
  std::atomic<uint32_t> launches;  // so far

  KernelArguments kernels;    // has its own lock
  std::atomic<int> captures;  // under way
};

State& state();
void reset_state();  // also what is numbered and interned
// Behind a call that begins or ends one.
void note_capture(const Call& call);

// ---- The guards' owner: fact_collector.cc in measuring runs; proving/deferring.cc where waits are corrected ----
// The agent is about to read these bytes of the program's: guards over them come down. False: they stay, and the bytes must
// not be read. Not under the lock.
bool begin_reading(AddressRange range);
void end_reading(AddressRange range);
// Under the lock: the driver has let this memory of the host's go.
void forget_host_memory(AddressRange range);

class Opened {
 public:
  explicit Opened(AddressRange range) : range_(range), readable_(begin_reading(range)) {}
  ~Opened() {
    if (readable_) end_reading(range_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  bool readable() const { return readable_; }

 private:
  AddressRange range_;
  bool readable_;
};

// Under the lock: kernels reach it from now on, and so does the host.
void share(Allocation& allocation);

}  // namespace diogenes::agent::facts
