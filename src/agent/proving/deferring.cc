#include "agent/proving/deferring.h"

#include "agent/core/memory/mappings.h"
#include "agent/hooks/collector.h"
#include "agent/proving/corrected_transfers.h"
#include "agent/proving/deferred_guards.h"
#include "agent/proving/deferred_ranges.h"
#include "agent/proving/unwritten_sources.h"
#include "agent/watching/facts/allocations.h"
#include "agent/watching/facts/call_slots.h"
#include "agent/watching/facts/content/uploads.h"
#include "agent/watching/facts/context_numbers.h"
#include "agent/watching/facts/decoding/decode.h"
#include "agent/watching/facts/decoding/graph_operands.h"
#include "agent/watching/facts/fact_collector.h"
#include "agent/watching/facts/facts_state.h"
#include "agent/watching/guard/releases.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/guard/threads/unseen_users.h"

namespace diogenes::agent::facts {

namespace {

// Under the lock of State, but for the slots.
struct Given {
  CallSlots<uint64_t> slots;  // kept: `pieces` when the call began
  DeferredRanges ranges;
  UnwrittenSources sources;
  uint64_t pieces;    // of work so far
  bool host_work;     // some has waited for the CPU, or run the program's code
  bool unknown_host;  // since all was waited for, some has reached host memory that is not known
};
alignas(64) unsigned char storage[sizeof(Given)];  // all zeros is the start
Given& given() { return *reinterpret_cast<Given*>(storage); }

// False: a handler of the program's has interrupted the agent on this thread, or the holder was stopped.
bool lock_in_release() { return locks_held_here == 0 && state().lock.try_lock_long(); }

void open_for_release(AddressRange range) {
  if (locks_held_here == 0) await_deferred(range.pages());
  open_range(range, TouchBy::exposed);
}

void after_release(AddressRange range, bool gone) {
  if (!gone) return;
  note_release(range);
  forget_mappings();  // what comes there may be shared memory
}

// What the driver touches by itself waits in the fault; the kernel does not, which may be asked to read or pin it.
void open_for_driver(AddressRange range, bool reading) {
  if (range.empty()) return;
  await_deferred(range.pages(), reading);
  if (!reading) open_range(range, TouchBy::driver);
}

void open_for(const Call& call, const DecodedCall& decoded) {
  open_for_driver(named_memory(call), false);
  if (!decoded.is_transfer || !decoded.transfer.decoded) return;
  if (decoded.source.on_host() && !decoded.transfer.fill) open_for_driver(decoded.source.host.range, true);
  if (decoded.destination.kind == MemoryKind::pageable)
    open_for_driver(decoded.destination.host.range, false);
}

void look_for_addresses(const DecodedCall& decoded) {
  if (copies_to_device(decoded)) read_upload(decoded.transfer, nullptr);
}

// The host memory of the work is dirty from now on. `pageable_is_done`: the driver does nothing more to pageable memory.
void mark_dirty(const Call& call, const DecodedCall& decoded, bool pageable_is_done, bool corrected) {
  if (decoded.host_count == 0) return;
  const bool pageable = decoded.is_transfer && decoded.destination.kind == MemoryKind::pageable;
  LockGuard guard(state().lock);
  ++given().pieces;
  for (int i = 0; i < decoded.host_count; ++i) {
    const HostRange& host = decoded.hosts[i];
    if (pageable && !pageable_is_done && host.range == decoded.destination.host.range)
      given().unknown_host = true;
    else
      given().ranges.add(
          {host, given().pieces, call.stream, corrected && decoded.destination.kind == MemoryKind::pageable});
  }
}

// A copy between the device and the host's memory that blocks is done with the latter when it returns; to the host, with all
// earlier work of its stream, too.
bool was_awaited(const Call& call, const DecodedCall& decoded) {
  const auto between = [](MemoryKind host, MemoryKind device) {
    return device == MemoryKind::device &&
           (host == MemoryKind::pageable || host == MemoryKind::pinned || host == MemoryKind::registered);
  };
  const TransferArguments& transfer = decoded.transfer;
  return decoded.is_transfer && transfer.decoded && !transfer.fill && transfer.bytes() > 0 &&
         !call.driver->asynchronous &&
         (between(decoded.destination.kind, decoded.source.kind) ||
          between(decoded.source.kind, decoded.destination.kind));
}

// What the GPU may write on the host. `unknown`: anywhere.
void note_writes(const DecodedCall& decoded, bool unknown) {
  if (decoded.host_count == 0 && !unknown) return;
  LockGuard guard(state().lock);
  for (int i = 0; i < decoded.host_count; ++i)
    if (decoded.hosts[i].protection == Protection::no_access)
      given().sources.note_work(decoded.hosts[i].range);
  if (unknown) given().sources.note_unknown_work();
}

// What a deferred wait could not cover.
void note_undeferrable(const Call& call, const DecodedCall& decoded) {
  const uint32_t flags = decoded.operands.flags;
  if (call.printed) given().host_work = true;  // what kernels print comes out where the program waits
  const bool listed = (flags & (kRunsOnHost | kWaitsForHost)) == 0 &&
                      (flags & (kAnyHost | kAnyPageable)) == 0 && decoded.host_count < DecodedCall::kHosts &&
                      (decoded.flags & (kSharesMemory | kUnlistedWork)) == 0;
  note_writes(decoded, !listed);
  if (listed) return;
  LockGuard guard(state().lock);
  if (flags & (kRunsOnHost | kWaitsForHost) || decoded.flags & kSharesMemory) {
    given().host_work = true;
  } else {
    ++given().pieces;
    given().unknown_host = true;
  }
}

// Of several contexts, it is not known to which a stream belongs; and each thread has a default stream of its own.
Coverage coverage_of(const Call& call) {
  const bool certain = contexts_seen() == 1;
  if (call.driver->stream_of == StreamOf::context) return {.all = certain};
  if (call.stream == kPerThreadStream || (call.stream == kLegacyStream && !certain)) return {};
  return {.stream = call.stream};
}

// A call has waited: what it waited for is no matter of a later deferral.
void forget_waited(const Call& call, uint64_t pieces) {
  Coverage coverage = coverage_of(call);
  LockGuard guard(state().lock);
  coverage.given = pieces;
  if (coverage.all && given().pieces == pieces) given().unknown_host = false;
  given().ranges.forget_waited(coverage);
}

// Other processes of a job, and the network for them, may read this one's memory and the GPU's.
bool others_may_look() {
  static const bool they_may = peers_may_read();
  return they_may;
}

// Under the lock.
Undeferred refusal() {
  if (given().host_work || others_may_look()) return Undeferred::host_work;
  if (given().unknown_host || state().unlisted_host) return Undeferred::unknown_memory;
  return given().ranges.refusal(has_had_threads());
}

}  // namespace

void start() {
  state().unlisted_memory = true;  // nobody looks for addresses in what is copied to the device
  state().unnamed_reached = true;
  start_deferred_guards();
  follow_releases({may_be_dirty, open_for_release, after_release});
}

void note_unseen_call() {
  LockGuard guard(state().lock);
  ++given().pieces;
  given().unknown_host = true;
  given().sources.note_unknown_work();
}

void before(Call& call) {
  call.pending = 0;
  if (is_idle(call)) return;
  auto* slot = given().slots.take(call);
  if (!slot) return note_unseen_call();
  DecodedCall& decoded = slot->decoded;
  // No work is done now; what it does later is the graph's.
  if (call.flags & kCapturing) return decoded.clear();
  if (call.driver->role == Role::graph) before_graph_call(call);
  decode(call, decoded);
  open_for(call, decoded);
  if (call.driver->has(Trait::ends_context)) end_context(call.argument(0));
  look_for_addresses(decoded);
  LockGuard guard(state().lock);
  slot->kept = given().pieces;
}

void after(Call& call) {
  note_capture(call);
  auto* slot = given().slots.of(call);
  if (!slot) return;
  DecodedCall& decoded = slot->decoded;
  if ((call.flags & kCapturing) == 0 && call.succeeded()) {
    decode_launched(call, decoded);
    note_made(call, decoded);
    const bool awaited = was_awaited(call, decoded);
    if (!awaited) mark_dirty(call, decoded, call.waited_at_all() || !call.driver->asynchronous, false);
    note_undeferrable(call, decoded);
    // Other calls wait for less than they seem to; and what another thread gives the GPU meanwhile is not waited for.
    if (call.driver->role == Role::synchronize || (awaited && decoded.source.kind == MemoryKind::device))
      forget_waited(call, slot->kept);
  }
  given().slots.release(call);
}

Undeferred begin_transfer(Call& call, CorrectedTransfer& transfer) {
  auto* slot = given().slots.take(call);
  if (!slot) return Undeferred::unknown_memory;
  decode(call, slot->decoded);
  const Undeferred why = corrected_transfer(slot->decoded, call.driver->asynchronous, transfer);
  if (why != Undeferred::none) return why;
  if (slot->decoded.transfer.fill) {
    transfer.value_bytes = static_cast<uint8_t>(element_bytes(*call.driver));
    transfer.value = static_cast<uint32_t>(call.argument(1));
  }
  look_for_addresses(slot->decoded);
  LockGuard guard(state().lock);
  transfer.unwritten |= !given().ranges.may_be_written(AddressRange::of(transfer.host, transfer.bytes));
  return refusal();
}

void end_transfer(Call& call, bool gives) {
  if (auto* slot = given().slots.of(call); slot && gives) {
    note_writes(slot->decoded, false);
    mark_dirty(call, slot->decoded, true, true);
  }
  given().slots.release(call);
}

Undeferred guard_dirty(Deferral deferral, const Call& call) {
  const Coverage coverage = coverage_of(call);
  LockGuard guard(state().lock);
  const Undeferred why = refusal();
  return why == Undeferred::none ? given().ranges.defer(deferral, coverage, has_had_threads()) : why;
}

bool has_uncovered() {
  if (others_may_look()) return true;
  LockGuard guard(state().lock);
  return given().host_work || given().unknown_host || state().unlisted_host || state().shared > 0 ||
         given().ranges.has_uncovered();
}

void release_deferred(Deferral last) {
  LockGuard guard(state().lock);
  given().ranges.forget_deferred(last);
}

uint32_t watch_source(uint64_t begin, uint64_t bytes) {
  const AddressRange pages = AddressRange::of(begin, bytes);
  bool own_pages = false;
  {
    LockGuard guard(state().lock);
    const Allocation* source = state().memory.find(begin);
    own_pages = source && source->kind == MemoryKind::pinned;
  }
  // The driver's pages are nobody else's.
  if (!own_pages && mapping_kind_now(pages) != MappingKind::private_memory) return 0;
  LockGuard guard(state().lock);
  return given().sources.watch(pages, own_pages);
}

bool is_unwritten(uint32_t watch) {
  LockGuard guard(state().lock);
  return given().sources.is_unwritten(watch);
}

void end_watch(uint32_t watch) {
  LockGuard guard(state().lock);
  given().sources.end(watch);
}

// ---- What others ask of the guards' owner ----

// Guards stay up: whoever reads there awaits what they stand for.
bool begin_reading(AddressRange) { return false; }
void end_reading(AddressRange) {}
void forget_host_memory(AddressRange range) { given().ranges.forget(range); }

bool may_be_dirty(AddressRange range) {
  if (!collecting() || given().ranges.empty() || !given().ranges.may_overlap(range)) return false;
  if (!lock_in_release()) return true;
  LockGuard guard(state().lock, Taken{});
  return given().ranges.overlaps(range);
}

void note_release(AddressRange range) {
  if (!lock_in_release()) return;  // its guards are gone, and was_touched() finds that
  LockGuard guard(state().lock, Taken{});
  given().ranges.forget(range);
}

}  // namespace diogenes::agent::facts

namespace diogenes::agent {

void after_acquire() {}

}  // namespace diogenes::agent
