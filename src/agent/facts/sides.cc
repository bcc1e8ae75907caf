#include "agent/facts/sides.h"

#include "agent/facts/state.h"
#include "agent/memory/regions.h"
#include "agent/stack.h"

namespace diogenes::agent::facts {

namespace {

// Pageable memory that the GPU writes: how can it be watched?
void describe_region(HostRange& host) {
  switch (region_of(host.range)) {
    case Region::private_memory:
      if (host.range.size() < kSmallestPageable) host.way = Way::watchpoints;
      return;
    case Region::shared_memory:
      host.refusal = WatchRefusal::shared_memory;
      return;
    case Region::stack:
      host.way = Way::watchpoints;
      host.frame = frame_marks(host.range.begin);
      return;
    case Region::unknown:
      host.refusal = WatchRefusal::unknown_memory;
  }
}

// As the map of memory has it. False: it is not there.
bool look_up(uint64_t address, Side& side) {
  LockGuard guard(state().lock);
  const Allocation* allocation = state().memory.find(address);
  if (!allocation) return false;
  side.kind = allocation->kind;
  // What reaches behind the allocation's end is an error of the program, and nothing to watch.
  side.host.range = side.host.range.intersection(allocation->range);
  side.host.refusal = allocation->refusal;
  side.host.own_pages = allocation->kind == MemoryKind::pinned || allocation->kind == MemoryKind::managed;
  if (side.kind == MemoryKind::registered && side.host.range.size() < kSmallestPageable)
    side.host.way = Way::watchpoints;
  return true;
}

}  // namespace

Side side_of(uint64_t address, uint64_t span, Said said, bool written, bool may_ask, bool page_tables) {
  Side side;
  side.host.range = AddressRange::of(address, span);
  side.host.protection = written ? Protection::no_access : Protection::read_only;
  if (look_up(address, side)) return side;
  if (may_ask) {
    side.kind = kind_of_pointer(address);
    // An address that the driver does not tell of cannot be pageable where only the GPU reaches.
    if (said == Said::device && side.kind == MemoryKind::pageable) side.kind = MemoryKind::device;
    if (said == Said::host && side.kind == MemoryKind::unknown) side.kind = MemoryKind::pageable;
  } else {
    side.kind = said == Said::host     ? MemoryKind::pageable
                : said == Said::device ? MemoryKind::device
                                       : MemoryKind::unknown;
  }
  if (side.kind == MemoryKind::device) return side;
  if (side.kind != MemoryKind::pageable || !may_ask) {
    // The driver knows it, and no allocation of it was seen: a variable of a module, memory of before,
    // another address of the same memory. Where it lies for the CPU is not known.
    side.host.refusal = WatchRefusal::unknown_memory;
  } else if (page_tables) {
    side.host.refusal = WatchRefusal::page_tables;
  } else if (written) {
    describe_region(side.host);
  }
  return side;
}

void add_side(const Side& side, bool written, bool whole, DecodedCall& decoded) {
  const HostRange& host = side.host;
  // Staged pageable memory is read by the CPU, in the call.
  bool by_call = !written && side.kind == MemoryKind::pageable && !decoded.page_tables;
  auto access = static_cast<uint8_t>((written ? kWrites : kReads) | (whole && written ? kWhole : 0) |
                                     (by_call ? kByCall : 0));
  decoded.operands.add(host.range, side.kind, access);
  if (side.kind == MemoryKind::unknown) decoded.operands.flags |= kAnyDevice | kAnyHost | kAnyPageable;
  if (side.kind == MemoryKind::device || by_call) return;
  decoded.add_host(host);
  if (whole && written && decoded.host_count > 0) decoded.hosts[decoded.host_count - 1].whole = true;
}

void add_graph_side(AddressRange range, bool said_host, bool written, DecodedCall& decoded) {
  Side side;
  side.host.range = range;
  side.host.protection = written ? Protection::no_access : Protection::read_only;
  if (!look_up(range.begin, side)) {
    // Pageable memory, which the driver reads or writes at a time of its own.
    side.kind = said_host ? MemoryKind::pageable : MemoryKind::unknown;
    side.host.refusal = WatchRefusal::unknown_memory;
    auto access = static_cast<uint8_t>(written ? kWrites : kReads);
    decoded.operands.add(range, side.kind, access);
    if (side.kind == MemoryKind::unknown) decoded.operands.flags |= kAnyDevice | kAnyHost | kAnyPageable;
    decoded.add_host(side.host);
    return;
  }
  add_side(side, written, false, decoded);
}

void note_addresses(uint64_t address) {
  LockGuard guard(state().lock);
  // Variables are within every kernel's reach.
  Allocation* allocation = state().memory.find(address);
  if (allocation && !allocation->variable)
    allocation->holds_addresses = true;
  else
    state().unlisted_memory = true;
}

void copy_addresses(uint64_t from, uint64_t to) {
  {
    LockGuard guard(state().lock);
    const Allocation* source = state().memory.find(from);
    if (!source || !source->holds_addresses || !state().memory.find(to)) return;
  }
  note_addresses(to);
}

}  // namespace diogenes::agent::facts
