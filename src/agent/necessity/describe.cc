#include "agent/necessity/describe.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "agent/driver_calls.h"
#include "agent/necessity/memory/regions.h"
#include "agent/pass_through.h"
#include "agent/stack.h"
#include "agent/stack_table.h"

namespace diogenes::agent {

bool is_work(const Call& call) {
  switch (call.driver->role) {
    case Role::launch:
    case Role::transfer:
    case Role::fill:
    case Role::graph_launch:
    case Role::host_function:
    case Role::prefetch:
      return true;
    case Role::stream_wait:
      return call.driver->arguments != Arguments::stream_wait && call.driver->stream_of != StreamOf::context;
    case Role::allocate:
    case Role::release:
    case Role::mapping:
    case Role::graph:
      return call.driver->stream_argument >= 0;  // stream-ordered
    default:
      return false;
  }
}

namespace {

// Effects on the host that cannot be watched, by the kind of call.
uint32_t reasons_of(const Call& call) {
  constexpr Reason no_reason{};
  switch (call.driver->role) {
    case Role::host_function:
      return kHostFunction;
    case Role::launch:
      return call.driver->arguments == Arguments::launch_list ? kUndecoded : no_reason;
    case Role::stream_wait:
      if (operation_has(call, "Semaphores")) return kSharedMemory;
      return operation_has(call, "WriteValue") || operation_has(call, "BatchMemOp") ? kUndecoded : no_reason;
    case Role::mapping:
      return operation_starts(call, "cuGraphics") ? kSharedMemory : no_reason;
    default:
      return 0;
  }
}

// Pageable memory that the GPU writes: how can it be guarded?
void describe_region(Side& side) {
  switch (region_of(side.range)) {
    case Region::private_memory:
      if (side.range.size() < kSmallestPageable) side.way = Way::watchpoints;
      return;
    case Region::shared_memory:
      side.unguardable = kSharedMemory;
      return;
    case Region::stack:
      side.way = Way::watchpoints;
      side.frame = frame_marks(side.range.begin);
      return;
    case Region::unknown:
      side.unguardable = kGuardRefused;
  }
}

// What the function's name says of one side.
enum class Named : uint8_t { unknown, host, device };

// `written`: a guard may come to lie on it.
Side side_of(State& state, uint64_t address, uint64_t span, Named named, bool written, bool may_ask) {
  Side side;
  side.range = AddressRange::of(address, span);
  {
    LockGuard guard(state.lock);
    if (const Allocation* allocation = state.memory.find(address)) {
      side.kind = allocation->kind;
      side.unguardable = allocation->unguardable;
      // What reaches behind the allocation's end is an error of the program, and nothing to guard.
      side.range = side.range.intersection(allocation->range);
      if (side.kind == MemoryKind::registered && side.range.size() < kSmallestPageable)
        side.way = Way::watchpoints;
      return side;
    }
  }
  if (!may_ask) {
    side.kind = named == Named::host     ? MemoryKind::pageable
                : named == Named::device ? MemoryKind::device
                                         : MemoryKind::unknown;
    side.unguardable = named == Named::device ? 0 : uint32_t{kUnknownMemory};
    return side;
  }
  side.kind = kind_of_pointer(address);
  // An address that the driver does not tell of cannot be pageable where only the GPU reaches.
  if (named == Named::device && side.kind == MemoryKind::pageable) side.kind = MemoryKind::device;
  if (named == Named::host && side.kind == MemoryKind::unknown) side.kind = MemoryKind::pageable;
  if (side.kind == MemoryKind::pageable) {
    if (!written) return side;
    describe_region(side);
  } else if (side.kind != MemoryKind::device) {
    // The driver knows it, and no allocation of it was seen: a variable of a module, memory of before,
    // another address of the same memory. Where it lies for the CPU is not known.
    side.unguardable = kUnknownMemory;
  }
  return side;
}

// What a wait inside this transfer covers, as the driver's documentation of synchronous behaviour and the
// measurements (docs/measurements.md) have it.
void describe_wait(const Call& call, Effect& effect) {
  bool asynchronous = call.driver->asynchronous;
  bool pageable_side =
      effect.destination.kind == MemoryKind::pageable || effect.source.kind == MemoryKind::pageable;
  if (call.driver->role == Role::fill) {
    // Of host memory: fully synchronous. Of device memory: never waits, as far as is known.
    effect.covers_earlier = effect.covers_itself = effect.to_host() && !asynchronous;
    return;
  }
  bool to_host = effect.copies_to_host(call), from_host = effect.copies_from_host(call);
  if (to_host && !from_host) {
    // Asynchronous to pinned memory returns at once; if it waited, then for something else.
    bool waits =
        !asynchronous || (effect.arguments.decoded && effect.destination.kind == MemoryKind::pageable);
    effect.covers_earlier = effect.covers_itself = waits;
  } else if (from_host && !to_host && !asynchronous) {
    effect.covers_earlier = true;
    effect.covers_itself = effect.arguments.decoded && !pageable_side;  // staged: may still be on its way
  }
}

void describe_transfer(State& state, const Call& call, bool may_ask, Effect& effect) {
  effect.transfer = true;
  const TransferArguments& arguments = effect.arguments;
  Direction by_name = call.driver->direction;
  if (!arguments.decoded) {
    if (by_name != Direction::device_to_device) effect.reasons |= kUndecoded;
    effect.kernel = true;  // may write whatever
    return;
  }
  auto named = [by_name](Direction one, Direction other) {
    return by_name == Direction::unknown        ? Named::unknown
           : by_name == one || by_name == other ? Named::host
                                                : Named::device;
  };
  Named to = named(Direction::device_to_host, Direction::host_to_host);
  Named from = named(Direction::host_to_device, Direction::host_to_host);
  if (arguments.fill) to = Named::device;
  effect.destination = side_of(state, arguments.destination, arguments.destination_span(), to, true, may_ask);
  if (!arguments.fill)
    effect.source = side_of(state, arguments.source, arguments.source_span(), from, false, may_ask);
  if (effect.destination.kind == MemoryKind::unknown ||
      (effect.source.kind == MemoryKind::unknown && !arguments.fill)) {
    effect.reasons |= kUndecoded;
    effect.kernel = true;
  }
  if (state.stage == Stage::memory_tracing &&
      (effect.destination.way == Way::watchpoints || effect.source.way == Way::watchpoints))
    effect.destination.name = effect.source.name = site_key(call.function, call.stack);
  CUdevice device = 0;
  PassThrough pass;
  if (driver_calls.ctx_get_device && driver_calls.ctx_get_device(&device) == CUDA_SUCCESS)
    effect.device = static_cast<uint32_t>(device);
}

}  // namespace

void describe(State& state, const Call& call, Effect& effect, GivenAddresses& given) {
  effect = {};
  given.clear();
  bool may_ask = state.captures == 0;
  uint64_t handle = 0;
  bool per_thread = false;
  effect.work = is_work(call);
  effect.reasons = reasons_of(call);
  if (read_stream(call, &handle, &per_thread)) {
    effect.names_stream = true;
    effect.stream.handle = handle;
  }
  bool needs_context = !effect.names_stream || handle == 0;
  if (needs_context) effect.context = current_context();
  if (effect.names_stream && handle == 0) {
    effect.stream.context = effect.context;
    if (per_thread) effect.stream.thread = static_cast<uint32_t>(syscall(SYS_gettid));
  }
  switch (call.driver->role) {
    case Role::launch:
      effect.kernel = true;
      state.kernels.scan(call, bounds_of(state), may_ask, given);
      break;
    case Role::stream_wait:
    case Role::host_function:
      effect.kernel = effect.reasons != 0;
      break;
    case Role::transfer:
    case Role::fill:
      if (read_transfer(call, &effect.arguments)) {
        describe_transfer(state, call, may_ask, effect);
      } else {
        effect.reasons |= kUndecoded;
        effect.kernel = true;
      }
      describe_wait(call, effect);
      break;
    default:
      break;
  }
}

Slot slot_of(State& state, const Effect& effect, bool may_ask) {
  if (!effect.names_stream) return kNoSlot;
  // The default stream of an unknown context would be several streams in one.
  if (effect.stream.handle == 0 && effect.stream.context == 0) return kNoSlot;
  {
    LockGuard guard(state.lock);
    Slot slot = state.order.find(effect.stream);
    if (slot != kNoSlot) return slot;
  }
  // First sight. A default stream is known by its context; a handle that was never seen created is asked for.
  uint64_t context = effect.context;
  bool blocking = true, certain = context != 0;
  CUdevice device = 0;
  int page_tables = 0;
  {
    PassThrough pass;
    if (effect.stream.handle != 0) {
      unsigned flags = 0;
      certain = false;  // its context may be a part of another (green contexts)
      if (may_ask && driver_calls.stream_get_flags &&
          driver_calls.stream_get_flags(reinterpret_cast<CUstream>(effect.stream.handle), &flags) ==
              CUDA_SUCCESS)
        blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
    }
    if (driver_calls.ctx_get_device && driver_calls.ctx_get_device(&device) == CUDA_SUCCESS &&
        driver_calls.device_get_attribute)
      driver_calls.device_get_attribute(&page_tables, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device);
  }
  LockGuard guard(state.lock);
  Slot slot = state.order.find(effect.stream);
  if (slot == kNoSlot)
    slot = state.order.add(effect.stream, context, blocking, certain, [&state](Slot used) {
      return state.instances.settle(used, state.order[used].ticks);
    });
  if (slot != kNoSlot) state.order[slot].page_tables = page_tables != 0;
  return slot;
}

}  // namespace diogenes::agent
