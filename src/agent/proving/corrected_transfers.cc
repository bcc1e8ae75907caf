#include "agent/proving/corrected_transfers.h"

#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace diogenes::agent::facts {

static uintptr_t end_of_executable() {
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  uintptr_t bias = 0, end = 0;
  for (uint64_t i = 0; headers && i < getauxval(AT_PHNUM); ++i) {
    if (headers[i].p_type == PT_PHDR) bias = reinterpret_cast<uintptr_t>(headers) - headers[i].p_vaddr;
    const uintptr_t segment = bias + headers[i].p_vaddr + headers[i].p_memsz;
    if (headers[i].p_type == PT_LOAD && segment > end) end = segment;
  }
  return end;
}

// Between the executable and the end of the heap that malloc begins with: the C library and the driver keep what they need
// beside what the program allocates there.
static bool on_heap(uintptr_t address) {
  static const uintptr_t begin = end_of_executable();
  return address >= begin && address < reinterpret_cast<uintptr_t>(sbrk(0));
}

// Whoever uses the heap may hold locks, or be about to tell of a failure of the GPU's, and must not wait for it.
static bool shares_heap(const HostRange& host) {
  return !host.own_pages && host.range != host.range.pages() && on_heap(host.range.begin);
}

Undeferred why_unguardable(const HostRange& host) {
  switch (host.refusal) {
    case WatchRefusal::none:
      // Watchpoints tell of a touch afterwards.
      return host.method == WatchMethod::pages && !shares_heap(host) ? Undeferred::none : Undeferred::small;
    case WatchRefusal::unknown_memory:
    case WatchRefusal::page_tables:
      return Undeferred::unknown_memory;
    case WatchRefusal::stack:
    case WatchRefusal::small:
      return Undeferred::small;
    default:
      return Undeferred::unguarded;
  }
}

// What reaches behind an allocation's end is an error of the program's.
static bool is_allocated(const TransferOperand& operand, const DecodedCall& decoded) {
  return operand.host.range.size() == decoded.transfer.width && !decoded.page_tables;
}

static Undeferred corrected_fill(const DecodedCall& decoded, bool asynchronous, CorrectedTransfer& transfer) {
  const TransferOperand& host = decoded.destination;
  const bool waits = !asynchronous && (host.kind == MemoryKind::pinned || host.kind == MemoryKind::managed);
  if (!waits) return Undeferred::form;
  if (!is_allocated(host, decoded)) return Undeferred::unknown_memory;
  transfer = {host.host.range.begin, decoded.transfer.destination, decoded.transfer.width, true};
  return why_unguardable(host.host);
}

static Undeferred corrected_copy(const DecodedCall& decoded, bool asynchronous, CorrectedTransfer& transfer) {
  const bool to_host = decoded.source.kind == MemoryKind::device;
  const TransferOperand& host = to_host ? decoded.destination : decoded.source;
  const TransferOperand& device = to_host ? decoded.source : decoded.destination;
  const bool pageable = host.kind == MemoryKind::pageable;
  const bool pinned = host.kind == MemoryKind::pinned || host.kind == MemoryKind::registered;
  if (device.kind != MemoryKind::device || !(pageable || pinned) || (pinned && asynchronous))
    return Undeferred::form;
  if (!is_allocated(host, decoded) || !is_allocated(device, decoded)) return Undeferred::unknown_memory;
  transfer = {
      host.host.range.begin, device.host.range.begin, decoded.transfer.width, to_host, pageable, pageable};
  const bool read_at_once = pageable && !to_host;
  return read_at_once ? Undeferred::none : why_unguardable(host.host);
}

Undeferred corrected_transfer(const DecodedCall& decoded, bool asynchronous, CorrectedTransfer& transfer) {
  const TransferArguments& made = decoded.transfer;
  if (!decoded.is_transfer || !made.decoded || made.height > 1 || made.width == 0) return Undeferred::form;
  return made.fill ? corrected_fill(decoded, asynchronous, transfer)
                   : corrected_copy(decoded, asynchronous, transfer);
}

}  // namespace diogenes::agent::facts
