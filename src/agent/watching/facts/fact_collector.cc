#include "agent/watching/facts/fact_collector.h"

#include "agent/core/calls/driver_calls.h"
#include "agent/core/memory/mappings.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "agent/core/running_stage.h"
#include "agent/watching/facts/allocations.h"
#include "agent/watching/facts/call_slots.h"
#include "agent/watching/facts/content/readbacks.h"
#include "agent/watching/facts/content/transfer_contents.h"
#include "agent/watching/facts/context_numbers.h"
#include "agent/watching/facts/decoding/decode.h"
#include "agent/watching/facts/decoding/graph_operands.h"
#include "agent/watching/facts/facts_state.h"
#include "agent/watching/facts/ranges/dirty_ranges.h"
#include "agent/watching/guard/guards.h"
#include "agent/watching/guard/releases.h"
#include "agent/watching/guard/threads/threads.h"
#include "agent/watching/guard/watch_records.h"
#include "agent/watching/order/order.h"

namespace diogenes::agent::facts {

namespace {

struct Watched {
  DirtyRanges dirty;
  CallSlots<Contents> slots;
};
alignas(64) unsigned char storage[sizeof(Watched)];  // all zeros is the start
DirtyRanges& dirty() { return reinterpret_cast<Watched*>(storage)->dirty; }
CallSlots<Contents>& slots() { return reinterpret_cast<Watched*>(storage)->slots; }

Nanoseconds started;
std::atomic<bool> used_up;  // what --max-overhead allows

// False: a handler of the program's has interrupted the agent on this thread, or the holder was stopped.
bool lock_in_release() { return locks_held_here == 0 && state().lock.try_lock_long(); }

void lower_for_release(AddressRange range) {
  // The guards fall by themselves; what they watched counts as touched.
  if (!lock_in_release()) return open_range(range, TouchBy::exposed);
  LockGuard guard(state().lock, Taken{});
  dirty().lower(range);
}

void after_release(AddressRange range, bool gone) {
  if (gone) {
    note_release(range);
    forget_mappings();  // what comes there may be shared memory
  }
  if (!lock_in_release()) return;
  LockGuard guard(state().lock, Taken{});
  dirty().restore(range);
}

bool has_waited(const Call& call, const DecodedCall* decoded) {
  if (!call.succeeded() || call.driver->role == Role::query) return false;
  if (call.driver->role == Role::synchronize || call.waited_at_all()) return true;
  // A blocking copy waits, or found all done.
  return decoded && decoded->is_transfer && !call.driver->asynchronous;
}

void lower(DecodedCall& decoded, AddressRange range) {
  if (range.empty() || decoded.lowered_count == 2) return;
  decoded.lowered[decoded.lowered_count++] = range;
  LockGuard guard(state().lock);
  dirty().lower(range);
}

// The driver's code, or the agent's, is about to use memory that may be guarded.
void lower_for(const Call& call, DecodedCall& decoded) {
  if (dirty().empty()) return;
  if (const AddressRange named = named_memory(call); !named.empty()) return lower(decoded, named);
  if (!decoded.is_transfer || !decoded.transfer.decoded) return;
  // Pageable memory is staged by the driver's own code; of the rest it may read small sources.
  if (decoded.source.on_host() && !decoded.transfer.fill) lower(decoded, decoded.source.host.range);
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
void mark_dirty(DecodedCall& decoded, bool pageable_is_done) {
  if (decoded.host_count == 0) return;
  if (!may_look()) decoded.flags |= kNotLookedAt;
  LockGuard guard(state().lock);
  for (int i = 0; i < decoded.host_count; ++i) {
    HostRange& host = decoded.hosts[i];
    if (!decoded.looked_at() && host.refusal == WatchRefusal::none)
      host.refusal = WatchRefusal::not_looked_at;
    bool pageable = decoded.is_transfer && decoded.destination.kind == MemoryKind::pageable &&
                    host.range == decoded.destination.host.range;
    if (!pageable || pageable_is_done) dirty().add(host);
  }
}

}  // namespace

void start() {
  reset_state();
  dirty().reset();
  slots().reset();
  started = monotonic_now();
  used_up.store(false, std::memory_order_relaxed);
  forget_readbacks();
  follow_releases({may_be_dirty, lower_for_release, after_release});
}

void before(Call& call) {
  call.pending = 0;
  if (is_idle(call)) return;
  auto* slot = slots().take(call);
  if (!slot) return;
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
  contents_before(call, decoded, slot->kept);
}

void after(Call& call) {
  record_late_ends();
  note_capture(call);
  auto* slot = slots().of(call);
  if (!slot) return;
  DecodedCall& decoded = slot->decoded;
  bool capturing = (call.flags & kCapturing) != 0;
  if (!capturing && call.succeeded()) {
    decode_launched(call, decoded);
    note_made(call, decoded);
    mark_dirty(decoded, call.waited_at_all() || !call.driver->asynchronous);
  }
  // What a blocking copy brought is read before its guard goes up; so is what this call covers.
  const bool waited = !capturing && has_waited(call, &decoded);
  if (!capturing) contents_of_done(call, decoded, slot->kept);
  if (waited) look_at_covered(call, decoded);
  if (decoded.lowered_count > 0 || decoded.is_transfer) {
    LockGuard guard(state().lock);
    for (int i = 0; i < decoded.lowered_count; ++i) dirty().restore(decoded.lowered[i]);
  }
  if (waited) {
    LockGuard guard(state().lock);
    dirty().raise(has_had_threads());
  }
}

void record_call(const Call& call) {
  CallRecord record{};
  record.type = RecordType::call;
  if (auto* slot = slots().of(call)) {
    DecodedCall& decoded = slot->decoded;
    record.flags = decoded.flags;
    record.context = decoded.context;
    bool lost = false;
    if (call.succeeded()) record.operands = intern_operands(decoded.operands, &lost);
    if (lost) record.flags |= kUnlistedWork, count_drop(Drop::objects_full);
    record.stream2 = decoded.second_event;
    record.argument = decoded.argument;
    contents_after(call, decoded, slot->kept);
  } else if (gives_work(call)) {
    record.flags = kGivesWork | kUnlistedWork;
  }
  if (call.printed) record.flags |= kPrinted;
  slots().release(const_cast<Call&>(call));
  auto narrow = [](Nanoseconds time) {
    return static_cast<uint32_t>(time.count < 0 ? 0 : time.count > 0xffffffffll ? 0xffffffff : time.count);
  };
  record.before_ns = narrow(call.begin - call.entered);
  record.after_ns = narrow(monotonic_now() - call.end);
  append(record);
}

void after_acquire() {
  if (dirty().empty() || locks_held_here > 0) return;
  LockGuard guard(state().lock);
  dirty().raise(true);
}

bool may_be_dirty(AddressRange range) {
  if (dirty().empty() || !dirty().may_overlap(range)) return false;
  if (!lock_in_release()) return true;
  LockGuard guard(state().lock, Taken{});
  return dirty().overlaps(range);
}

void note_release(AddressRange range) {
  append(MemoryEventRecord{.type = RecordType::memory_event,
                           .event = MemoryEvent::released,
                           .begin = range.begin,
                           .bytes = range.size(),
                           .at_ns = monotonic_now().count});
  if (!lock_in_release()) return;  // its guards are gone, and collect() finds that
  LockGuard guard(state().lock, Taken{});
  dirty().forget(range);
}

bool begin_reading(AddressRange range) {
  if (!dirty().may_overlap(range)) return true;
  LockGuard guard(state().lock);
  dirty().lower(range);
  return true;
}

void end_reading(AddressRange range) {
  if (!dirty().may_overlap(range)) return;
  LockGuard guard(state().lock);
  dirty().restore(range);
}

void forget_host_memory(AddressRange range) {
  dirty().forget(range);
  forget_downloads(range);
}

void finish() {
  record_sleepers();
  give_up_readbacks();
  collect_unseen();
  record_late_ends();
  LockGuard guard(state().lock);
  dirty().collect(has_had_threads());
}

}  // namespace diogenes::agent::facts

namespace diogenes::agent {

void after_acquire() {
  if (stage_uses_guards()) facts::after_acquire();
}

}  // namespace diogenes::agent
