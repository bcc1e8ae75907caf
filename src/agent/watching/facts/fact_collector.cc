#include "agent/watching/facts/fact_collector.h"

#include "agent/core/calls/driver_calls.h"
#include "agent/core/memory/mappings.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/watching/facts/allocations.h"
#include "agent/watching/facts/content/corrected_transfers.h"
#include "agent/watching/facts/content/readbacks.h"
#include "agent/watching/facts/content/transfer_contents.h"
#include "agent/watching/facts/context_numbers.h"
#include "agent/watching/facts/facts_state.h"
#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/releases.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/guard/watch_records.h"
#include "agent/watching/order/order.h"

namespace diogenes::agent::facts {

namespace {

// Calls between before() and after().
struct Slot {
  std::atomic<bool> used;
  DecodedCall decoded;
  Contents contents;
  uint64_t given;  // State::given when it began
};
constexpr int kSlots = 256;
alignas(64) Slot slots[kSlots];
std::atomic<uint32_t> next_slot{0};
// The one that this thread had last, counted from 1: it is in its processor's cache. 0: it had none yet.
__attribute__((tls_model("initial-exec"))) thread_local constinit uint32_t last_slot = 0;
Nanoseconds started;
std::atomic<bool> used_up;  // what --max-overhead allows

alignas(64) unsigned char storage[sizeof(State)];  // all zeros is the start of every table

Slot* take_slot() {
  const uint32_t first = last_slot ? last_slot - 1 : next_slot.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kSlots; ++i) {
    const uint32_t at = (first + i) % kSlots;
    Slot& slot = slots[at];
    if (slot.used.load(std::memory_order_relaxed) || slot.used.exchange(true, std::memory_order_acquire))
      continue;
    last_slot = at + 1;
    return &slot;
  }
  count_drop(Drop::objects_full);
  return nullptr;
}

Slot* slot_of(const Call& call) { return call.pending ? &slots[call.pending - 1] : nullptr; }

// False: a handler of the program's has interrupted the agent on this thread, or the holder was stopped.
bool lock_in_release() { return locks_held_here == 0 && state().lock.try_lock_long(); }

void lower_for_release(AddressRange range) {
  if (locks_held_here == 0) await_deferred(range.pages());
  // The guards fall by themselves; what they watched counts as touched.
  if (!lock_in_release()) return open_range(range, TouchBy::exposed);
  LockGuard guard(state().lock, Taken{});
  state().dirty.lower(range);
}

void after_release(AddressRange range, bool gone) {
  if (gone) {
    note_release(range);
    forget_mappings();  // what comes there may be shared memory
  }
  if (!lock_in_release()) return;
  LockGuard guard(state().lock, Taken{});
  state().dirty.restore(range);
}

bool has_waited(const Call& call, const DecodedCall* decoded) {
  if (!call.succeeded() || call.driver->role == Role::query) return false;
  if (call.driver->role == Role::synchronize || call.waited_at_all()) return true;
  // A blocking copy waits, or found all done.
  return decoded && decoded->is_transfer && !call.driver->asynchronous;
}

// What the driver touches by itself waits in the fault; the kernel does not, which may be asked to read or pin it.
void open_for_driver(AddressRange range, bool reading) {
  if (range.empty()) return;
  await_deferred(range.pages(), reading);
  if (!reading) open_range(range, TouchBy::driver);
}

void lower(DecodedCall& decoded, AddressRange range) {
  if (stage_corrects()) return open_for_driver(range, false);
  if (range.empty() || decoded.lowered_count == 2) return;
  decoded.lowered[decoded.lowered_count++] = range;
  LockGuard guard(state().lock);
  state().dirty.lower(range);
}

// The driver's code, or the agent's, is about to use memory that may be guarded.
void lower_for(const Call& call, DecodedCall& decoded) {
  if (state().dirty.empty() && !stage_corrects()) return;  // which has guards over sources, too
  if (call.driver->arguments == Arguments::register_host)
    return lower(decoded, AddressRange::of(call.argument(0), call.argument(1)).pages());
  if (call.driver->arguments == Arguments::release || call.driver->arguments == Arguments::unregister_host) {
    AddressRange range;
    {
      LockGuard guard(state().lock);
      if (const Allocation* known = state().memory.find(call.argument(0)))
        if (known->kind != MemoryKind::device) range = known->range;
    }
    return lower(decoded, range);
  }
  if (!decoded.is_transfer || !decoded.transfer.decoded) return;
  // Pageable memory is staged by the driver's own code; of the rest it may read small sources.
  if (decoded.source.on_host() && !decoded.transfer.fill)
    stage_corrects() ? open_for_driver(decoded.source.host.range, true)
                     : lower(decoded, decoded.source.host.range);
  if (decoded.destination.kind == MemoryKind::pageable || decoded.reads_destination)
    lower(decoded, decoded.destination.host.range);
}

// --max-overhead: a run that has taken so long, by half a baseline, looks at nothing more. Short ones always look.
bool may_look() {
  constexpr double kGrace = 0.5;  // in seconds
  if (used_up.load(std::memory_order_relaxed)) return false;
  const double factor = plan().plan->max_overhead, baseline = Nanoseconds{plan().plan->baseline_ns}.seconds();
  if (factor <= 1 || (monotonic_now() - started).seconds() <= (factor + 0.5) * baseline + kGrace) return true;
  if (!used_up.exchange(true)) end_guarding();
  return false;
}

// The host memory of the work is dirty from now on. `pageable_is_done`: the driver does nothing more to pageable memory.
void mark_dirty(const Call& call, DecodedCall& decoded, bool pageable_is_done, bool corrected = false) {
  if (decoded.host_count == 0) return;
  if (!may_look()) decoded.flags |= kNotLookedAt;
  LockGuard guard(state().lock);
  ++state().given;
  for (int i = 0; i < decoded.host_count; ++i) {
    HostRange& host = decoded.hosts[i];
    host.stream = call.stream;
    host.given = state().given;
    host.staged = corrected && decoded.destination.kind == MemoryKind::pageable;
    if (!decoded.looked_at() && host.refusal == WatchRefusal::none)
      host.refusal = WatchRefusal::not_looked_at;
    bool pageable = decoded.is_transfer && decoded.destination.kind == MemoryKind::pageable &&
                    host.range == decoded.destination.host.range;
    if (pageable && !pageable_is_done) {
      state().unknown_host = true;
      continue;
    }
    state().dirty.add(host);
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
      state().sources.note_work(decoded.hosts[i].range);
  if (unknown) state().sources.note_unknown_work();
}

// What a deferred wait could not cover.
void note_undeferrable(const Call& call, const DecodedCall& decoded) {
  const uint32_t flags = decoded.operands.flags;
  if (call.printed) state().host_work = true;  // what kernels print comes out where the program waits
  const bool listed = (flags & (kRunsOnHost | kWaitsForHost)) == 0 &&
                      (flags & (kAnyHost | kAnyPageable)) == 0 && decoded.host_count < DecodedCall::kHosts &&
                      (decoded.flags & (kSharesMemory | kUnlistedWork)) == 0;
  note_writes(decoded, !listed);
  if (listed) return;
  LockGuard guard(state().lock);
  if (flags & (kRunsOnHost | kWaitsForHost) || decoded.flags & kSharesMemory) {
    state().host_work = true;
  } else {
    ++state().given;
    state().unknown_host = true;
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
void forget_waited(const Call& call, uint64_t given) {
  Coverage coverage = coverage_of(call);
  LockGuard guard(state().lock);
  const bool others = state().given != given;
  coverage.given = given;
  if (coverage.all && !others) state().unknown_host = false;
  state().dirty.forget_waited(coverage);
}

void release_slot(Call& call) {
  if (Slot* slot = slot_of(call)) slot->used.store(false, std::memory_order_release);
  call.pending = 0;
}

}  // namespace

State& state() { return *reinterpret_cast<State*>(storage); }

void start() {
  State& all = state();
  all.memory.reset();
  all.dirty.reset();
  all.sources.reset();
  all.graphs.reset();
  all.kernels.reset();
  all.unlisted_memory = all.unlisted_host = all.variables = all.found = false;
  all.shared = 0;
  all.host_work = all.unknown_host = false;
  all.given = 0;
  all.launches = 0;
  if (stage_corrects())
    all.unlisted_memory = true;  // nobody looks for addresses in what is copied to the device
  all.captures = 0;
  for (auto& slot : slots) slot.used.store(false, std::memory_order_relaxed);
  started = monotonic_now();
  used_up.store(false, std::memory_order_relaxed);
  forget_names();
  forget_operands();
  forget_readbacks();
  follow_releases({may_be_dirty, lower_for_release, after_release});
}

void note_unseen_call() {
  LockGuard guard(state().lock);
  ++state().given;
  state().unknown_host = true;
  state().sources.note_unknown_work();
}

void before(Call& call) {
  call.pending = 0;
  if (is_idle(call)) return;
  Slot* slot = take_slot();
  if (!slot) return note_unseen_call();
  call.pending = static_cast<uint32_t>(slot - slots) + 1;
  DecodedCall& decoded = slot->decoded;
  if (call.flags & kCapturing) {
    // No work is done now; what it does later is the graph's.
    decoded.clear();
    return;
  }
  if (call.driver->role == Role::graph) before_graph_call(call);
  decode(call, decoded);
  if (decoded.is_transfer && !may_look()) decoded.flags |= kNotLookedAt;
  decoded.reads_destination = looks_at_destination(decoded);
  lower_for(call, decoded);
  if (call.driver->has(Trait::ends_context)) {
    decoded.argument = end_context(call.argument(0));
    end_readbacks_in(static_cast<uint16_t>(decoded.argument));
  }
  if (stage_corrects()) {
    look_at_upload(decoded);
    LockGuard guard(state().lock);
    slot->given = state().given;
    return;
  }
  contents_before(call, decoded, slot->contents);
}

void after(Call& call) {
  record_late_ends();
  if (call.driver->role == Role::capture) {
    // EndCapture ends it also where it fails: the capture was invalid.
    if (call.driver->has(Trait::begins_capture) && call.succeeded()) ++state().captures;
    if (call.driver->has(Trait::ends_capture) && state().captures > 0) --state().captures;
  }
  Slot* slot = slot_of(call);
  if (!slot) return;
  DecodedCall& decoded = slot->decoded;
  bool capturing = (call.flags & kCapturing) != 0;
  if (!capturing && call.succeeded()) {
    decode_launched(call, decoded);
    note_made(call, decoded);
    if (!stage_corrects() || !was_awaited(call, decoded))
      mark_dirty(call, decoded, call.waited_at_all() || !call.driver->asynchronous);
  }
  // What a blocking copy brought is read before its guard goes up; so is what this call covers.
  const bool waited = !capturing && has_waited(call, &decoded);
  if (stage_corrects()) {
    if (!capturing && call.succeeded()) note_undeferrable(call, decoded);
    // Other calls wait for less than they seem to; and what another thread gives the GPU meanwhile is not waited for.
    const bool brought = was_awaited(call, decoded) && decoded.source.kind == MemoryKind::device;
    if (waited && (call.driver->role == Role::synchronize || brought)) forget_waited(call, slot->given);
    return release_slot(call);
  }
  if (!capturing) contents_of_done(call, decoded, slot->contents);
  if (waited) look_at_covered(call, decoded);
  if (decoded.lowered_count > 0 || decoded.is_transfer) {
    LockGuard guard(state().lock);
    for (int i = 0; i < decoded.lowered_count; ++i) state().dirty.restore(decoded.lowered[i]);
  }
  if (waited) {
    LockGuard guard(state().lock);
    state().dirty.raise(has_had_threads());
  }
}

void record_call(const Call& call) {
  CallRecord record{};
  record.type = RecordType::call;
  if (Slot* slot = slot_of(call)) {
    DecodedCall& decoded = slot->decoded;
    record.flags = decoded.flags;
    record.context = decoded.context;
    bool lost = false;
    if (call.succeeded()) record.operands = intern_operands(decoded.operands, &lost);
    if (lost) record.flags |= kUnlistedWork, count_drop(Drop::objects_full);
    record.stream2 = decoded.second_event;
    record.argument = decoded.argument;
    contents_after(call, decoded, slot->contents);
  } else if (gives_work(call)) {
    record.flags = kGivesWork | kUnlistedWork;
  }
  if (call.printed) record.flags |= kPrinted;
  release_slot(const_cast<Call&>(call));
  auto narrow = [](Nanoseconds time) {
    return static_cast<uint32_t>(time.count < 0 ? 0 : time.count > 0xffffffffll ? 0xffffffff : time.count);
  };
  record.before_ns = narrow(call.begin - call.entered);
  record.after_ns = narrow(monotonic_now() - call.end);
  append(record);
}

void after_acquire() {
  if (state().dirty.empty() || stage_corrects() || locks_held_here > 0) return;
  LockGuard guard(state().lock);
  state().dirty.raise(true);
}

bool may_be_dirty(AddressRange range) {
  if (state().dirty.empty() || !state().dirty.may_overlap(range)) return false;
  if (!lock_in_release()) return true;
  LockGuard guard(state().lock, Taken{});
  return state().dirty.overlaps(range);
}

void note_release(AddressRange range) {
  append(MemoryEventRecord{.type = RecordType::memory_event,
                           .event = MemoryEvent::released,
                           .begin = range.begin,
                           .bytes = range.size(),
                           .at_ns = monotonic_now().count});
  if (!lock_in_release()) return;  // its guards are gone, and collect() finds that
  LockGuard guard(state().lock, Taken{});
  state().dirty.forget(range);
}

// Under the lock.
static Undeferred refusal() {
  if (state().host_work || others_may_look()) return Undeferred::host_work;
  if (state().unknown_host || state().unlisted_host) return Undeferred::unknown_memory;
  return state().dirty.refusal(has_had_threads());
}

Undeferred begin_transfer(Call& call, CorrectedTransfer& transfer) {
  Slot* slot = take_slot();
  call.pending = slot ? static_cast<uint32_t>(slot - slots) + 1 : 0;
  if (!slot) return Undeferred::unknown_memory;
  decode(call, slot->decoded);
  const Undeferred why = corrected_transfer(slot->decoded, call.driver->asynchronous, transfer);
  if (why != Undeferred::none) return why;
  if (slot->decoded.transfer.fill) {
    transfer.value_bytes = static_cast<uint8_t>(element_bytes(*call.driver));
    transfer.value = static_cast<uint32_t>(call.argument(1));
  }
  look_at_upload(slot->decoded);
  LockGuard guard(state().lock);
  transfer.unwritten |= !state().dirty.may_be_written(AddressRange::of(transfer.host, transfer.bytes));
  return refusal();
}

void end_transfer(Call& call, bool given) {
  if (Slot* slot = slot_of(call); slot && given) {
    note_writes(slot->decoded, false);
    mark_dirty(call, slot->decoded, true, true);
  }
  release_slot(call);
}

Undeferred guard_dirty(Deferral deferral, const Call& call) {
  const Coverage coverage = coverage_of(call);
  LockGuard guard(state().lock);
  const Undeferred why = refusal();
  return why == Undeferred::none ? state().dirty.defer(deferral, coverage, has_had_threads()) : why;
}

void finish() {
  record_sleepers();
  give_up_readbacks();
  collect_unseen();
  record_late_ends();
  LockGuard guard(state().lock);
  state().dirty.collect(has_had_threads());
}

}  // namespace diogenes::agent::facts

namespace diogenes::agent {

void after_acquire() {
  if (stage_uses_guards()) facts::after_acquire();
}

}  // namespace diogenes::agent
