#include "analysis/necessity/interpret/call_effects.h"

namespace diogenes::necessity {
namespace {

bool is_host(MemoryKind kind) {
  return kind == MemoryKind::pageable || kind == MemoryKind::pinned || kind == MemoryKind::registered;
}

// The host reaches it; managed memory is host and device memory, and the function's name says which is meant.
bool may_be_host(MemoryKind kind) { return is_host(kind) || kind == MemoryKind::managed; }

// Addresses and size are among the call's arguments, or in a structure that is read.
bool is_decoded(const DriverFunction& driver) {
  switch (driver.arguments) {
    case Arguments::copy:
    case Arguments::copy_peer:
    case Arguments::copy_from_array:
    case Arguments::copy_to_array:
    case Arguments::copy_2d:
    case Arguments::fill:
    case Arguments::fill_2d:
      return true;
    default:
      return false;
  }
}

bool reads_array(const DriverFunction& driver) {
  return driver.arguments == Arguments::copy_from_array || driver.arguments == Arguments::copy_to_array;
}

// What these calls wait for is their business, not only other work's end: no verdict on them.
bool waits_for_itself(const DriverFunction& driver, bool new_work) {
  switch (driver.role) {
    case Role::synchronize:
    case Role::transfer:
    case Role::fill:
    case Role::release:
    case Role::registration:
      return false;
    case Role::module:
      return !new_work;
    default:
      return true;
  }
}

}  // namespace

bool gives_work(const CallView& call) {
  if (moves_nothing(call)) return false;
  return call.recorded.call ? call.has(kGivesWork) : diogenes::gives_work(call.driver);
}

bool moves_nothing(const CallView& call) {
  const TransferRecord* transfer = call.recorded.transfer;
  return transfer && transfer->bytes == 0 && is_decoded(call.driver) &&
         (call.driver.role == Role::transfer || call.driver.role == Role::fill);
}

bool needs_operands(const CallView& call) {
  switch (call.driver.role) {
    case Role::launch:
    case Role::graph_launch:
    case Role::transfer:
    case Role::fill:
    case Role::host_function:
    case Role::stream_wait:
      return true;
    default:
      return false;
  }
}

BlockingCopy blocking_copy(const CallView& call) {
  BlockingCopy copy;
  const DriverFunction& driver = call.driver;
  if ((driver.role != Role::transfer && driver.role != Role::fill) || moves_nothing(call)) return copy;
  MemoryKind to = MemoryKind::unknown, from = MemoryKind::unknown;
  if (const TransferRecord* transfer = call.recorded.transfer) {
    to = transfer->destination_kind;
    from = transfer->source_kind;
  }
  bool asynchronous = driver.asynchronous;
  if (driver.role == Role::fill) {
    // Of host memory: fully synchronous. Of device memory: never waits, as far as is known.
    copy.covers_earlier = copy.covers_itself = may_be_host(to) && !asynchronous;
    return copy;
  }
  auto is = [&driver](Direction direction, bool by_kind) {
    return driver.direction == direction || (driver.direction == Direction::unknown && by_kind);
  };
  bool to_host = is(Direction::device_to_host, may_be_host(to));
  bool from_host = is(Direction::host_to_device, may_be_host(from));
  bool decoded = is_decoded(driver) && !reads_array(driver) && call.recorded.transfer;
  if (to_host && !from_host) {
    // Asynchronous to pinned memory returns at once; if it waited, then for something else.
    bool waits = !asynchronous || (decoded && to == MemoryKind::pageable);
    copy.covers_earlier = copy.covers_itself = waits;
  } else if (from_host && !to_host && !asynchronous) {
    bool pageable = to == MemoryKind::pageable || from == MemoryKind::pageable;
    copy.covers_earlier = true;
    copy.covers_itself = decoded && !pageable;  // staged: may still be on its way
  }
  return copy;
}

bool is_wait(const CallView& call, const BlockingCopy& copy) {
  if (call.has(kFailed) || call.has(kCapturing) || call.driver.role == Role::query) return false;
  if (moves_nothing(call)) return call.has(kWaited);
  if (call.driver.role == Role::synchronize || call.has(kWaited)) return true;
  return copy.covers_earlier && !call.driver.asynchronous;
}

Wait wait_of(const CallView& call, const BlockingCopy& copy, bool new_work) {
  Wait wait;
  wait.own_work = waits_for_itself(call.driver, new_work);
  wait.changeable = !wait.own_work;
  wait.implicit = call.driver.role != Role::synchronize;
  // The documentation says of copies and of fills of host memory when they are synchronous; of releases,
  // unregistrations and modules that they wait is measured only.
  // That an asynchronous copy waits, because its memory is pageable, nobody may rely on.
  wait.documented = !wait.implicit || (copy.covers_earlier && !call.driver.asynchronous);
  return wait;
}

uint32_t reason_of(WatchRefusal refusal) {
  switch (refusal) {
    case WatchRefusal::none:
      return 0;
    case WatchRefusal::small:
    case WatchRefusal::stack:
      return kSmallRange;
    case WatchRefusal::shared_memory:
      return kSharedMemory;
    case WatchRefusal::unknown_memory:
      return kUnknownMemory;
    case WatchRefusal::not_looked_at:
      return kOverBudget;
    case WatchRefusal::often:
      return kExposed;
    case WatchRefusal::limit:
    case WatchRefusal::page_tables:
    case WatchRefusal::no_guards:
      return kGuardRefused;
  }
  return kGuardRefused;  // a damaged record
}

}  // namespace diogenes::necessity
