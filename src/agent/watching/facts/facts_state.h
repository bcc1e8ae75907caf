// What the collector of facts knows of the process: its memory, its graphs, and what is dirty. All zeros is
// the start.
#pragma once
#include "agent/core/lock.h"
#include "agent/core/memory/kernel_arguments.h"
#include "agent/watching/facts/decoding/decode.h"
#include "agent/watching/facts/decoding/graph_operands.h"
#include "agent/watching/facts/ranges/dirty_ranges.h"
#include "agent/watching/facts/ranges/driver_memory.h"
#include "agent/watching/facts/ranges/host_addresses.h"
#include "agent/watching/facts/ranges/unwritten_sources.h"

namespace diogenes::agent::facts {

struct State {
  Lock lock;  // of what follows, up to the next that has its own
  MemoryMap memory;
  DirtyRanges dirty;
  UnwrittenSources sources;
  Graphs graphs;
  bool unlisted_memory;       // kernels reach memory that no allocation gave: textures, mappings of others
  bool unlisted_host;         // ... some of which the host may share
  bool variables;             // device variables of modules are known
  int shared;                 // allocations that kernels and the host share
  uint32_t host_allocations;  // pinned and registered ones, made so far
  uint64_t given;             // pieces of work so far
  std::atomic<uint32_t> launches;  // so far
  bool host_work;                  // work has waited for the CPU, or run the program's code
  bool unknown_host;  // since all work was waited for, some has reached host memory that is not known

  HostAddresses possible_addresses;  // words of graphs, and of what was sent to the device
  HostAddresses released;            // memory that kernels and the host shared

  KernelArguments kernels;    // has its own lock
  std::atomic<int> captures;  // under way
};

State& state();

// The agent reads these bytes of the program's, not under the lock: guards over them are down meanwhile.
class Opened {
 public:
  explicit Opened(AddressRange range) : range_(range), guarded_(state().dirty.may_overlap(range)) {
    if (!guarded_) return;
    LockGuard guard(state().lock);
    state().dirty.lower(range_);
  }
  ~Opened() {
    if (!guarded_) return;
    LockGuard guard(state().lock);
    state().dirty.restore(range_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  AddressRange range_;
  bool guarded_;
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
