// The content of transfers, read at the times at which it is what the transfer moves.
#include <atomic>

#include "agent/driver_calls.h"
#include "agent/necessity/state.h"
#include "agent/pass_through.h"

namespace diogenes::agent {

namespace {

// Of a copy to the device. It is read anyway for its content; what is larger takes too long twice.
constexpr uint64_t kScannedForAddresses = 64 << 20;

enum : int { kNone, kMaking, kThere, kFailed };
std::atomic<int> staging_state{kNone};

// Made at the first suspicion: most programs never need it.
bool have_staging(State& state) {
  int expected = kNone;
  if (staging_state.load(std::memory_order_acquire) == kThere) return true;
  if (!driver_calls.mem_host_alloc ||
      !staging_state.compare_exchange_strong(expected, kMaking, std::memory_order_acq_rel))
    return false;
  PassThrough pass;
  void* memory = nullptr;
  bool made = driver_calls.mem_host_alloc(&memory, Duplicates::kStagingBytes, CU_MEMHOSTALLOC_PORTABLE) ==
              CUDA_SUCCESS;
  {
    LockGuard guard(state.lock);
    if (made) state.duplicates.set_staging(static_cast<unsigned char*>(memory));
  }
  staging_state.store(made ? kThere : kFailed, std::memory_order_release);
  return made;
}

// Enqueues a copy of the destination into staging memory, in the stream of the program's own copy and before
// it.
void read_back(State& state, const Call& call, Flight& flight) {
  TransferInFlight& transfer = flight.transfer;
  const TransferArguments& arguments = flight.effect.arguments;
  bool contiguous = arguments.height <= 1 || arguments.destination_pitch == arguments.width;
  auto copy =
      flight.effect.stream.thread != 0 ? driver_calls.memcpy_dtoh_async_ptsz : driver_calls.memcpy_dtoh_async;
  if (!copy || !contiguous || flight.slot == kNoSlot || transfer.key.bytes > Duplicates::kStagingBytes ||
      state.captures > 0 || !have_staging(state))
    return;
  unsigned char* staging = nullptr;
  {
    LockGuard guard(state.lock);
    if (state.captures > 0) return;
    transfer.readback = state.duplicates.reserve(transfer.key.bytes);
    if (transfer.readback) staging = state.duplicates.staging(transfer.readback);
  }
  if (!staging) return;
  CUresult result;
  {
    PassThrough pass;
    result = copy(staging, transfer.key.destination, transfer.key.bytes,
                  reinterpret_cast<CUstream>(flight.effect.stream.handle));
  }
  LockGuard guard(state.lock);
  if (result != CUDA_SUCCESS) {
    state.duplicates.cancel_readback(transfer.readback);
    transfer.readback = 0;
    return;
  }
  Tick before = flight.clock[flight.slot];
  Tick tick = state.order.submit(flight.slot, flight.clock);
  state.duplicates.await_readback(transfer.readback, flight.slot, tick);
  if (tick == before + 1) flight.clock.raise(flight.slot, tick);
  transfer.readback_tick = tick;
  (void)call;
}

// Addresses that are copied to the device are given to the kernels that look there.
void scan_for_addresses(State& state, const TransferArguments& copy) {
  const AddressBounds bounds = bounds_of(state);
  if (bounds.empty()) return;
  GivenAddresses given;
  given.clear();
  bool any = copy.bytes() > kScannedForAddresses;
  for (uint64_t row = 0; row < copy.height && !any; ++row)
    scan_words(reinterpret_cast<const void*>(copy.source + row * copy.source_pitch), copy.width,
               copy.destination + row * copy.destination_pitch, bounds, given);
  if (given.count == 0 && !any) return;
  LockGuard guard(state.lock);
  if (given.unknown)
    state.memory.for_each_host([&](const Allocation& allocation) { give_to_kernels(state, allocation); });
  for (int i = 0; i < given.count; ++i) {
    const Allocation* allocation = allocation_near(state, given.address[i]);
    any |= allocation != nullptr;
    if (allocation && is_host_side(allocation->kind)) give_to_kernels(state, *allocation);
  }
  if (any) note_pointers(state, copy.destination);
}

// Pieces of a whole that begins at a multiple of a word.
struct AddressesIn {
  AddressBounds bounds;
  GivenAddresses given;

  static void look(void* context, const void* piece, uint64_t bytes) {
    auto* in = static_cast<AddressesIn*>(context);
    if (!in->bounds.empty()) scan_words(piece, bytes, 0, in->bounds, in->given);
  }
  bool any() const { return given.count > 0 || given.unknown; }
};

// What a copy to the host brought is known, and remains so until somebody touches it: a copy that fetches it
// back need not look again, which would end its guard. Addresses in it are another matter: where there are
// any, each such copy looks itself.
bool may_keep(State& state, const Rows& rows, Slot stream, Tick tick, AddressesIn* addresses) {
  if (!rows.contiguous() || rows.address % 8 != 0 || rows.bytes() > kScannedForAddresses) return false;
  LockGuard guard(state.lock);
  addresses->bounds = state.memory.bounds();
  addresses->given.clear();
  return state.watches.may_keep_content(rows.span(), stream, tick);
}

void keep(State& state, const Rows& rows, Slot stream, Tick tick, const Content& content,
          const AddressesIn& addresses) {
  if (addresses.any()) return;
  LockGuard guard(state.lock);
  state.watches.keep_content(rows.span(), stream, tick, content, addresses.bounds.bytes());
}

ContentKey content_key(const TransferKey& key) { return {key.content, key.bytes, key.context, key.device}; }

// Under the lock: what was sent before, and what the destination has to be looked at for.
void suspect(State& state, Flight& flight) {
  TransferInFlight& transfer = flight.transfer;
  Suspicion& suspicion = transfer.suspicion;
  transfer.suspected = state.duplicates.find(transfer.key, &suspicion.held_first);
  if (transfer.suspected) suspicion.held = Duplicate::verified;
  if (!transfer.plain || transfer.key.context == 0) return;
  ContentKey key = content_key(transfer.key);
  uint64_t came_from = 0;
  if (state.places.returned(key, transfer.host.address, &suspicion.first, &came_from)) {
    suspicion.otherwise = Duplicate::returned;
    if (!transfer.suspected && came_from == transfer.key.destination) {
      suspicion.held = Duplicate::returned_held;
      suspicion.held_first = suspicion.first;
    }
  } else if (state.places.elsewhere(key, transfer.key.destination, &suspicion.first)) {
    suspicion.otherwise = Duplicate::elsewhere;
  }
}

// Under the lock: the content of a copy to the host is known.
void note_fetched(State& state, const TransferKey& key, const Rows& host, OperationId id) {
  if (key.source != 0 && key.context != 0)
    state.places.fetched(content_key(key), host.address, key.source, id);
}

}  // namespace

void hash_before(State& state, const Call& call, Flight& flight) {
  const Effect& effect = flight.effect;
  const TransferArguments& arguments = effect.arguments;
  TransferInFlight& transfer = flight.transfer;
  transfer = {};
  if (!effect.transfer || arguments.fill || !arguments.decoded || arguments.bytes() == 0) return;
  bool to_host = effect.copies_to_host(call), from_host = effect.copies_from_host(call);
  if (to_host == from_host) return;
  // Memory whose place on the CPU's side is not known is not read, nor memory that kernels write at any time.
  const Side& side = to_host ? effect.destination : effect.source;
  if ((side.unguardable & kUnknownMemory) != 0) return;
  if (side.kind == MemoryKind::managed && to_host) return;
  transfer.key.destination = arguments.destination;
  transfer.key.bytes = arguments.bytes();
  transfer.key.device = effect.device;
  transfer.key.to_device = from_host;
  transfer.plain = arguments.height <= 1 || (arguments.source_pitch == arguments.width &&
                                             arguments.destination_pitch == arguments.width);
  const Side& device = to_host ? effect.source : effect.destination;
  transfer.plain &= device.kind == MemoryKind::device;
  if (transfer.plain) transfer.key.context = effect.context ? effect.context : current_context();
  if (transfer.plain && to_host) transfer.key.source = arguments.source;
  if (from_host) {
    transfer.kind = TransferInFlight::to_device;
    transfer.host = {arguments.source, arguments.width, arguments.height, arguments.source_pitch};
    if (flight.kept.kept) {
      transfer.key.content = flight.kept.content;
    } else {
      transfer.key.content = content_of(transfer.host);
      scan_for_addresses(state, arguments);
    }
    {
      LockGuard guard(state.lock);
      // Its source is still being written: what was read is not what will be sent.
      if (!flight.kept.kept && state.watches.in_flight(effect.source.range)) {
        transfer.kind = TransferInFlight::nothing;
        return;
      }
      suspect(state, flight);
    }
    if (transfer.suspicion.held != Duplicate::none) read_back(state, call, flight);
    return;
  }
  transfer.kind = TransferInFlight::to_host;
  transfer.host = {arguments.destination, arguments.width, arguments.height, arguments.destination_pitch};
  bool look = false;
  {
    LockGuard guard(state.lock);
    if (state.shared.contains(effect.destination.range)) {
      transfer.kind = TransferInFlight::nothing;
      return;
    }
    if (state.duplicates.destination_seen(transfer.key)) {
      look = !state.watches.in_flight(effect.destination.range);
      if (!look) transfer.held.state = Held::unknown;
    }
  }
  // The driver is about to write it; that the address is wrong is for the driver to say.
  if (look && is_mapped(transfer.host.span())) {
    transfer.held.content = content_of(transfer.host);
    transfer.held.state = Held::known;
  }
}

void hash_after(State& state, const Call& call, Flight& flight, Tick tick) {
  TransferInFlight& transfer = flight.transfer;
  if (transfer.kind == TransferInFlight::nothing) return;
  bool recorded = call.succeeded() && call.id.sequence != OperationId{}.sequence;
  if (transfer.kind == TransferInFlight::to_device) {
    if (!recorded) return;  // a readback that was enqueued is waited for all the same
    bool pending = false;
    {
      LockGuard guard(state.lock);
      if (!transfer.suspected) state.duplicates.remember(transfer.key, call.id);
      if (transfer.plain && transfer.key.context != 0)
        state.places.sent(content_key(transfer.key), transfer.key.destination, call.id);
      if (transfer.readback)
        pending =
            state.duplicates.belongs_to(transfer.readback, call.id, transfer.key.content, transfer.suspicion);
    }
    if (!pending) transfer.suspicion.append_unverified(call.id, transfer.key.content);
    return;
  }
  if (!recorded) return;
  if (tick == 0) return;
  bool done = !call.driver->asynchronous || flight.effect.destination.kind == MemoryKind::pageable;
  if (!done) {
    if (flight.slot == kNoSlot) return;
    LockGuard guard(state.lock);
    uint64_t site = download_site(state, call, flight);
    if (site != 0 && state.unread_on_host.copied(call.id, flight.effect.destination.range, site, flight.slot,
                                                 tick, UnreadOnHost::From::flight))
      return;
    state.duplicates.await_copy(transfer.key, transfer.host, transfer.held, call.id, flight.slot, tick, site);
    return;
  }
  transfer.key.content = content_of(transfer.host);
  AddressesIn addresses;
  if (flight.slot != kNoSlot && may_keep(state, transfer.host, flight.slot, tick, &addresses)) {
    AddressesIn::look(&addresses, reinterpret_cast<const void*>(transfer.host.address),
                      transfer.host.bytes());
    keep(state, transfer.host, flight.slot, tick, transfer.key.content, addresses);
  }
  OperationId first;
  bool seen;
  {
    LockGuard guard(state.lock);
    seen = state.duplicates.find(transfer.key, &first);
    if (!seen) state.duplicates.remember(transfer.key, call.id);
    note_fetched(state, transfer.key, transfer.host, call.id);
  }
  append_hash(call.id, transfer.key.content, judge_to_host(seen, transfer.held, transfer.key.content), first);
  if (flight.slot == kNoSlot) return;
  // Behind the hash: the agent's own look at the data must not be taken for the program's.
  LockGuard guard(state.lock);
  if (uint64_t site = download_site(state, call, flight))
    state.unread_on_host.copied(call.id, flight.effect.destination.range, site, flight.slot, tick,
                                UnreadOnHost::From::done);
}

void hash_covered(State& state, const Clock& certain) {
  for (;;) {
    Duplicates::Ready ready;
    const unsigned char* staging = nullptr;
    {
      LockGuard guard(state.lock);
      if (!state.duplicates.take_ready(certain, &ready)) return;
      if (ready.kind == Duplicates::Ready::readback) staging = state.duplicates.staging(ready.number);
    }
    if (ready.kind == Duplicates::Ready::readback) {
      bool wanted = ready.id.sequence != OperationId{}.sequence;
      Content held;
      if (wanted)
        held = content_of({reinterpret_cast<uint64_t>(staging), ready.key.bytes, 1, ready.key.bytes});
      {
        LockGuard guard(state.lock);
        state.duplicates.release(ready.number);
      }
      if (wanted) ready.suspicion.append(ready.id, ready.key.content, held == ready.key.content);
      continue;
    }
    AddressesIn addresses;
    bool kept = may_keep(state, ready.rows, ready.stream, ready.tick, &addresses);
    if (!content_if_there(ready.rows, &ready.key.content, kept ? AddressesIn::look : nullptr, &addresses))
      continue;
    if (kept) keep(state, ready.rows, ready.stream, ready.tick, ready.key.content, addresses);
    bool seen;
    {
      LockGuard guard(state.lock);
      seen = state.duplicates.find(ready.key, &ready.first);
      if (!seen) state.duplicates.remember(ready.key, ready.id);
      note_fetched(state, ready.key, ready.rows, ready.id);
      if (ready.site != 0)
        state.unread_on_host.copied(ready.id, ready.rows.span(), ready.site, ready.stream, ready.tick,
                                    UnreadOnHost::From::wait);
    }
    append_hash(ready.id, ready.key.content, judge_to_host(seen, ready.held, ready.key.content), ready.first);
  }
}

void forget_staging(State& state) {
  hash_rest(state);
  LockGuard guard(state.lock);
  state.duplicates.forget_staging();
  int expected = kThere;
  staging_state.compare_exchange_strong(expected, kNone, std::memory_order_acq_rel);
}

void reset_staging() { staging_state.store(kNone, std::memory_order_relaxed); }

void hash_rest(State& state) {
  Duplicates::Ready ready;
  for (;;) {
    {
      LockGuard guard(state.lock);
      if (!state.duplicates.take_unverified(&ready)) return;
    }
    ready.suspicion.append_unverified(ready.id, ready.key.content);
  }
}

}  // namespace diogenes::agent
