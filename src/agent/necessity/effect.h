// What one call does to order and memory, in the collector's terms. Made in before(), outside the lock: this
// is where the program's memory is read and the driver is asked.
#pragma once
#include "agent/arguments.h"
#include "agent/call.h"
#include "agent/guard/guards.h"
#include "agent/necessity/memory/kernel_arguments.h"
#include "agent/necessity/memory/memory_map.h"
#include "agent/necessity/order/order.h"

namespace diogenes::agent {

// What a call may cover beyond what is certain, where it turns out to have waited.
enum class Doubt : uint8_t {
  nothing,
  blocking_streams,  // of the context
  context,           // all streams of the context
  everything,
};

// One side of a transfer.
struct Side {
  MemoryKind kind = MemoryKind::unknown;
  AddressRange range;        // empty: not known
  uint32_t unguardable = 0;  // Reason bits; as in Allocation
  Way way = Way::pages;      // how it can be guarded
  uint64_t name = 0;         // by watchpoints, in several runs: the same in each
  FrameMarks frame;          // of the stack frame that it lies in
};

struct Effect {
  // Order.
  bool names_stream = false;
  StreamName stream;
  uint64_t context = 0;  // the current one; 0: not known
  bool work = false;     // gives the stream work
  bool kernel = false;   // that may write any memory that kernels reach
  uint32_t reasons = 0;  // Reason bits of effects that cannot be watched

  // Memory.
  bool transfer = false;
  TransferArguments arguments;
  Side destination, source;
  uint32_t device = 0;

  // Self: a transfer or fill that waits covers its stream's earlier work, and itself.
  bool covers_earlier = false, covers_itself = false;

  bool to_host() const { return is_host_side(destination.kind) || destination.kind == MemoryKind::managed; }
  bool from_host() const { return is_host_side(source.kind) || source.kind == MemoryKind::managed; }

  // Managed memory is host and device memory: the function's name says which is meant.
  bool copies_to_host(const Call& call) const {
    return call.driver->direction == Direction::device_to_host ||
           (call.driver->direction == Direction::unknown && to_host());
  }
  bool copies_from_host(const Call& call) const {
    return call.driver->direction == Direction::host_to_device ||
           (call.driver->direction == Direction::unknown && from_host());
  }
};

// Roles that change neither order nor memory, and cannot wait for work: nothing to do.
bool is_idle_role(const Call& call);

// Is the operation's name `prefix...`?
bool operation_starts(const Call& call, const char* prefix);
bool operation_has(const Call& call, const char* part);

uint64_t current_context();

}  // namespace diogenes::agent
