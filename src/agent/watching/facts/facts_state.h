// What the collector of facts knows of the process: its memory, its graphs, and what is dirty. All zeros is
// the start.
#pragma once
#include "agent/core/lock.h"
#include "agent/core/memory/kernel_arguments.h"
#include "agent/watching/facts/decoding/decode.h"
#include "agent/watching/facts/decoding/graph_operands.h"
#include "agent/watching/facts/ranges/dirty_ranges.h"
#include "agent/watching/facts/ranges/driver_memory.h"
#include "agent/watching/facts/ranges/unwritten_sources.h"

namespace diogenes::agent::facts {

struct State {
  Lock lock;  // of what follows, up to the next that has its own
  MemoryMap memory;
  DirtyRanges dirty;
  UnwrittenSources sources;
  Graphs graphs;
  bool unlisted_memory;  // kernels reach memory that no allocation gave: textures, mappings of others
  bool unlisted_host;    // ... some of which the host may share
  bool variables;        // device variables of modules are known
  bool found;            // some allocation is, or was (Allocation::found)
  int shared;            // allocations that kernels and the host share
  uint64_t given;        // pieces of work so far
  std::atomic<uint32_t> launches;  // so far
  bool host_work;                  // work has waited for the CPU, or run the program's code
  bool unknown_host;  // since all work was waited for, some has reached host memory that is not known

  KernelArguments kernels;    // has its own lock
  std::atomic<int> captures;  // under way
};

State& state();

// The memory that kernels reach by the words in decoded.given (kernel_operands.cc). Under no lock.
void add_kernel_operands(DecodedCall& decoded);
// Under the lock: kernels reach it from now on, and so does the host.
void share(Allocation& allocation);

}  // namespace diogenes::agent::facts
