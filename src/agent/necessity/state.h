// Everything that the necessity collector knows, in one place without constructors' work: all zeros is the
// start.
#pragma once
#include "agent/lock.h"
#include "agent/necessity/effect.h"
#include "agent/necessity/given_contents.h"
#include "agent/necessity/graphs.h"
#include "agent/necessity/memory/kernel_arguments.h"
#include "agent/necessity/memory/memory_map.h"
#include "agent/necessity/memory/shared_memory.h"
#include "agent/necessity/order/instances.h"
#include "agent/necessity/order/order.h"
#include "agent/necessity/order/unwatchable.h"
#include "agent/necessity/transfers/content_places.h"
#include "agent/necessity/transfers/duplicates.h"
#include "agent/necessity/transfers/unread.h"
#include "agent/necessity/transfers/unread_on_host.h"
#include "agent/necessity/watches.h"

namespace diogenes::agent {

// A transfer's content, between before() and after().
struct TransferInFlight {
  enum : uint8_t { nothing, to_device, to_host } kind;
  bool plain;      // to or from the device in one piece on both sides
  bool suspected;  // to the device: the same was sent there before
  TransferKey key;
  Rows host;
  Held held;
  Suspicion suspicion;
  uint32_t readback;  // 0: none
  Tick readback_tick;
};

// A call between before() and after(): what was true when it was entered. What it covers was given to the GPU
// by then; what it adds counts from its return.
struct Flight {
  bool used;
  Effect effect;
  GivenAddresses given;       // to a kernel
  GivenBlocks blocks;         // that these lie in
  Named named;                // by its work
  const GraphEffects* graph;  // of a launch; null: not known
  uint32_t graph_generation, graph_words;
  Slot slot;         // of effect.stream
  Clock clock;       // work: what it is ordered after. Waits: what they cover for certain
  Doubt doubt;       // waits: what else they may cover
  uint64_t context;  // the scope of `doubt`
  KeptContent kept;  // of the source that this copy fetches back
  Clock order;       // work, stage 3: `clock` and all that the host knew to be done
  bool in_use;       // releases: copies that are not known to be done use the memory
  bool scoped;       // `clock` and `doubt` are what a wait in this call covers
  TransferInFlight transfer;
};

inline constexpr int kMaximumFlights = 512;

struct State {
  Lock lock;
  Stage stage;
  bool started;

  Order order;
  Instances instances;
  UnwatchableWork unwatchable;
  Watches watches;
  SharedMemory shared;
  MemoryMap memory;
  NamedMemory named;
  Graphs graphs;
  KernelArguments kernels;  // has its own lock
  ReadingTime reading;      // needs none
  Duplicates duplicates;
  ContentPlaces places;
  Unread unread;
  UnreadOnHost unread_on_host;

  Flight flights[kMaximumFlights];
  int next_flight;
  uint32_t sequence;     // of synchronizations
  uint32_t pages_taken;  // calls by which the GPU may have taken pages of managed memory that were not read

  // Once one of these is set, it stays.
  bool undecidable;           // work was given to a stream that is not known
  bool events_undecidable;    // an event was recorded out of sight
  uint32_t work_reasons;      // Reason bits that all work has
  uint32_t kernel_reasons;    // ... that kernels and graphs have
  bool unnamed_memory;        // kernels reach memory that no allocation gave: textures, mappings of others
  bool variables;             // device variables of modules are known
  std::atomic<int> captures;  // under way

  // Runs behind the first of stage 3 only watch small ranges.
  bool first_run;
  bool hashing() const { return stage == Stage::memory_tracing && first_run; }
};

// In .bss: its arrays must not weigh on a program that never uses CUDA.
State& necessity_state();

constexpr uint32_t number_of(const State& state, const Flight& flight) {
  return static_cast<uint32_t>(&flight - state.flights) + 1;
}

// Under the lock, in this order. Before the call:
void name_work(State& state, const Call& call, Flight& flight);     // naming.cc
void note_sharing(State& state, const Call& call);                  // memory_effects.cc
void before_order(State& state, const Call& call, Flight& flight);  // scope.cc
void before_memory(State& state, const Call& call, Flight& flight);
// After it, where it succeeded:
void after_allocation(State& state, const Call& call, uint32_t region_reasons, uint64_t context,
                      const AllocationArguments& allocation);
// The address of a module's variable was asked for. Empty: its size is not known.
void after_variable(State& state, AddressRange range, bool managed);
// ... or that of host memory, as kernels use it.
void after_device_pointer(State& state, const Call& call);
void after_objects(State& state, const Call& call, const Flight* flight, uint64_t context, uint64_t created);
// Gives the stream its work; its tick, 0: none.
Tick after_work(State& state, const Call& call, const Flight* flight);

// The kernels of `flight` name what is in flight.given.
void name_given(State& state, Flight& flight);  // naming.cc
// Written by the GPU, and visible to the host; read by it, maybe after the call (memory_effects.cc).
void note_written(State& state, const Side& side, Slot slot, Tick tick);
void note_read(State& state, const Side& side, Slot slot, Tick tick);
// Outside the lock.
AddressBounds bounds_of(State& state);  // naming.cc
// The allocation that a kernel is given with this word, if any.
const Allocation* allocation_near(const State& state, uint64_t word);  // naming.cc
// Addresses of device or host memory were copied to `destination`: kernels that are given it may follow them.
void note_pointers(State& state, uint64_t destination);  // naming.cc

// Outside the lock: calls of and under stream capture (object_effects.cc).
void after_captured(State& state, const Call& call);
void count_captures(State& state, const Call& call);

// A copy from host memory uses `range`. Under the lock.
void note_fetched_back(State& state, AddressRange range, const Use& by_device, Flight& flight);

// Pinned or registered memory was given to kernels. Under the lock.
void give_to_kernels(State& state, const Allocation& allocation);

// A successful wait (coverage.cc): opens its instance, takes over, guards. Under the lock, after its own work
// got `tick` (0: it gave none). `flight`: null where it was not known that the call could wait.
InstanceIndex cover(State& state, const Call& call, const Flight* flight, Tick tick);

// What is never used (unread_effects.cc). Under the lock: before the driver uses host memory; after work was
// given, at `tick`, and memory made or released (`range`).
void before_unread(State& state, const Call& call, Flight& flight);
void after_unread(State& state, const Call& call, const Flight* flight, Tick tick, AddressRange released,
                  const AllocationArguments* made);
// Function and stack of a copy to the host whose destination can be watched for being unused; 0: it cannot.
uint64_t download_site(const State& state, const Call& call, const Flight& flight);
void settle_unread(State& state);

// The content of transfers (contents.cc). Outside the lock; each takes it as needed.
void hash_before(State& state, const Call& call, Flight& flight);
void hash_after(State& state, const Call& call, Flight& flight, Tick tick);
void hash_covered(State& state, const Clock& certain);
void hash_rest(State& state);
// The context that owns the staging memory may be about to end.
void forget_staging(State& state);
void reset_staging();

}  // namespace diogenes::agent
