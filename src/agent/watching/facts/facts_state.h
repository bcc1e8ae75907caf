// What is known of the process: its memory and its graphs. All zeros is the start.
#pragma once
#include "agent/core/lock.h"
#include "agent/core/memory/kernel_arguments.h"
#include "agent/watching/facts/decoding/decode.h"
#include "agent/watching/facts/decoding/graph_operands.h"
#include "agent/watching/facts/ranges/driver_memory.h"
#include "agent/watching/facts/ranges/host_addresses.h"

namespace diogenes::agent::facts {

struct State {
  Lock lock;  // of what follows, up to the next that has its own
  MemoryMap memory;
  Graphs graphs;
  bool unlisted_memory;       // kernels reach memory that no allocation gave: textures, mappings of others
  bool unlisted_host;         // ... some of which the host may share
  bool variables;             // device variables of modules are known
  int shared;                 // allocations that kernels and the host share
  uint32_t host_allocations;  // pinned and registered ones, made so far
  std::atomic<uint32_t> launches;  // so far

  HostAddresses possible_addresses;  // words of graphs, and of what was sent to the device
  HostAddresses released;            // memory that kernels and the host shared

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

// The memory that kernels reach by the words in decoded.given (kernel_operands.cc). Under no lock.
void add_kernel_operands(DecodedCall& decoded);
// Under the lock: kernels reach it from now on, and so does the host.
void share(Allocation& allocation);
void share_all_host_memory();
// Of an address, kernels may find the bits from `below` on: they tell where it points, and the rest may come otherwise. The
// host's memory that may be meant is shared, now or when it is registered. False: no memory can be meant.
bool share_addressed(uint64_t upper, int below);

}  // namespace diogenes::agent::facts
