#include "agent/watching/facts/decoding/transfer_operands.h"

#include "agent/core/memory/mappings.h"
#include "agent/core/stacks/stack.h"
#include "agent/watching/facts/facts_state.h"

namespace diogenes::agent::facts {

namespace {

// Pageable memory that the GPU writes: how can it be watched?
void describe_mapping(HostRange& host) {
  switch (mapping_kind(host.range)) {
    case MappingKind::private_memory:
    case MappingKind::private_file:
      if (host.range.size() < kSmallestPageable) host.method = WatchMethod::watchpoints;
      return;
    case MappingKind::shared_memory:
      host.refusal = WatchRefusal::shared_memory;
      return;
    case MappingKind::stack:
      host.method = WatchMethod::watchpoints;
      host.frame = frame_marks(host.range.begin);
      return;
    case MappingKind::unknown:
      host.refusal = WatchRefusal::unknown_memory;
  }
}

// As the map of memory has it. False: it is not there.
bool look_up(uint64_t address, TransferOperand& operand) {
  LockGuard guard(state().lock);
  Allocation* allocation = state().memory.find(address);
  if (!allocation) return false;
  allocation->named = true;
  operand.kind = allocation->kind;
  // What reaches behind the allocation's end is an error of the program, and nothing to watch.
  operand.host.range = operand.host.range.intersection(allocation->range);
  operand.host.refusal = allocation->refusal;
  operand.host.own_pages = allocation->kind == MemoryKind::pinned || allocation->kind == MemoryKind::managed;
  if (operand.kind == MemoryKind::registered && operand.host.range.size() < kSmallestPageable)
    operand.host.method = WatchMethod::watchpoints;
  return true;
}

}  // namespace

TransferOperand transfer_operand(uint64_t address, uint64_t span, Said said, bool written, bool may_ask,
                                 bool page_tables) {
  TransferOperand operand;
  operand.host.range = AddressRange::of(address, span);
  operand.host.protection = written ? Protection::no_access : Protection::read_only;
  if (look_up(address, operand)) return operand;
  if (may_ask) {
    operand.kind = kind_of_pointer(address);
    // An address that the driver does not tell of cannot be pageable where only the GPU reaches.
    if (said == Said::device && operand.kind == MemoryKind::pageable) operand.kind = MemoryKind::device;
    if (said == Said::host && operand.kind == MemoryKind::unknown) operand.kind = MemoryKind::pageable;
  } else {
    operand.kind = said == Said::host     ? MemoryKind::pageable
                   : said == Said::device ? MemoryKind::device
                                          : MemoryKind::unknown;
  }
  if (operand.kind == MemoryKind::device) return operand;
  if (operand.kind != MemoryKind::pageable || !may_ask) {
    // The driver knows it, and no allocation of it was seen: a variable of a module, memory of before,
    // another address of the same memory. Where it lies for the CPU is not known.
    operand.host.refusal = WatchRefusal::unknown_memory;
  } else if (page_tables) {
    operand.host.refusal = WatchRefusal::page_tables;
  } else if (written) {
    describe_mapping(operand.host);
  }
  return operand;
}

void add_transfer_operand(const TransferOperand& operand, bool written, bool whole, DecodedCall& decoded) {
  const HostRange& host = operand.host;
  // Staged pageable memory is read by the CPU, in the call.
  bool by_call = !written && operand.kind == MemoryKind::pageable && !decoded.page_tables;
  auto access = static_cast<uint8_t>((written ? kWrites : kReads) | (whole && written ? kWhole : 0) |
                                     (by_call ? kByCall : 0));
  decoded.operands.add(host.range, operand.kind, access);
  if (operand.kind == MemoryKind::unknown) decoded.operands.flags |= kAnyDevice | kAnyHost | kAnyPageable;
  if (operand.kind == MemoryKind::device || by_call) return;
  decoded.add_host(host);
  if (whole && written && decoded.host_count > 0) decoded.hosts[decoded.host_count - 1].whole = true;
}

void add_graph_transfer_operand(AddressRange range, bool said_host, bool written, DecodedCall& decoded) {
  TransferOperand operand;
  operand.host.range = range;
  operand.host.protection = written ? Protection::no_access : Protection::read_only;
  if (!look_up(range.begin, operand)) {
    // Pageable memory, which the driver reads or writes at a time of its own.
    operand.kind = said_host ? MemoryKind::pageable : MemoryKind::unknown;
    operand.host.refusal = WatchRefusal::unknown_memory;
    auto access = static_cast<uint8_t>(written ? kWrites : kReads);
    decoded.operands.add(range, operand.kind, access);
    if (operand.kind == MemoryKind::unknown) decoded.operands.flags |= kAnyDevice | kAnyHost | kAnyPageable;
    decoded.add_host(operand.host);
    return;
  }
  add_transfer_operand(operand, written, false, decoded);
}

}  // namespace diogenes::agent::facts
