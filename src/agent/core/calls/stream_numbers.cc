#include "agent/core/calls/stream_numbers.h"

#include <atomic>

#include "agent/core/calls/arguments.h"
#include "agent/core/calls/driver_calls.h"
#include "agent/core/lock.h"
#include "agent/core/memory/copy.h"
#include "agent/core/pass_through.h"
#include "agent/core/recording/recorder.h"
#include "driver/cuda_types.h"

namespace diogenes::agent {

namespace {

// Handle to number, open addressing; a destroyed handle's slot keeps the handle and gets number 0.
class Numbers {
 public:
  uint32_t number_of(uint64_t handle) {
    LockGuard guard(lock_);
    Slot* slot = find(handle);
    if (!slot) return kNoStream;
    if (slot->number == 0) {
      slot->handle = handle;
      slot->number = 2 + next_++;
    }
    return slot->number;
  }
  void forget(uint64_t handle) {
    LockGuard guard(lock_);
    if (Slot* slot = find(handle)) slot->number = 0;
  }

 private:
  struct Slot {
    uint64_t handle;
    uint32_t number;
  };
  static constexpr size_t kSlots = 1 << 15;

  Slot* find(uint64_t handle) {
    for (size_t probe = 0, at = (handle * 0x9e3779b97f4a7c15 >> 32) % kSlots; probe < 256; ++probe) {
      Slot& slot = slots_[(at + probe) % kSlots];
      if (slot.handle == handle || slot.handle == 0) return &slot;
    }
    count_drop(Drop::objects_full);
    return nullptr;
  }

  Lock lock_;
  Slot slots_[kSlots] = {};
  uint32_t next_ = 0;  // less 2: a table of zeros lies in .bss
};

constinit Numbers streams, events;
std::atomic<int> captures{0};  // begun and not ended, in all threads
std::atomic<bool> capture_begun{false};

bool is_capturing(uint64_t stream, bool per_thread) {
  auto ask = per_thread ? driver_calls.stream_is_capturing_ptsz : driver_calls.stream_is_capturing;
  if (captures.load(std::memory_order_relaxed) == 0 || !ask) return false;
  PassThrough pass;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask(reinterpret_cast<CUstream>(stream), &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// The event that the call names, or 0.
uint64_t event_of(const Call& call) {
  switch (call.driver->arguments) {
    case Arguments::event:
    case Arguments::event_record:
      return call.argument(0);
    case Arguments::stream_wait:
      return call.driver->role == Role::stream_wait ? call.argument(1) : 0;
    case Arguments::elapsed_time:
      return call.argument(1);
    default:
      return 0;
  }
}

// Binary images begin with a number (ELF, a fat binary or what points to one), PTX with text.
CodeImage image_at(uint64_t address) {
  char begin[4];
  if (!copy_if_there(begin, reinterpret_cast<const void*>(address), sizeof begin)) return CodeImage::unknown;
  for (const char c : begin)
    if ((c < ' ' || c > '~') && (c < '\t' || c > '\r')) return CodeImage::binary;
  return CodeImage::ptx;
}

}  // namespace

bool capture_under_way() { return captures.load(std::memory_order_relaxed) > 0; }
bool any_capture_begun() { return capture_begun.load(std::memory_order_seq_cst); }

uint32_t number_of_event(uint64_t handle) { return handle ? events.number_of(handle) : 0; }

void number_objects(Call& call) {
  if (call.driver->has(Trait::begins_capture)) capture_begun.store(true, std::memory_order_seq_cst);
  uint64_t handle = 0;
  bool per_thread = false;
  if (read_stream(call, &handle, &per_thread)) {
    call.stream = handle ? streams.number_of(handle) : per_thread ? kPerThreadStream : kLegacyStream;
    if (is_capturing(handle, per_thread)) call.flags |= kCapturing;
  }
  if (call.driver->has(Trait::image_argument))
    call.object = static_cast<uint32_t>(image_at(call.argument(1)));
  if (uint64_t event = event_of(call)) call.object = events.number_of(event);
  if (call.driver->arguments == Arguments::stream_destroy) streams.forget(call.argument(0));
  if (call.driver->role == Role::event && call.driver->arguments == Arguments::event)
    events.forget(call.argument(0));
}

void number_new_objects(Call& call) {
  if (!call.succeeded()) return;
  auto created = [&call]() -> uint64_t {
    auto* handle = call.pointer<const uint64_t*>(0);
    return handle ? *handle : 0;
  };
  if (call.driver->role == Role::launch) call.object = launched_blocks(call);
  if (call.driver->arguments == Arguments::stream_create) {
    streams.forget(created());
    call.stream = streams.number_of(created());
    call.object = (call.argument(1) & CU_STREAM_NON_BLOCKING) != 0;
  } else if (call.driver->arguments == Arguments::event_create) {
    events.forget(created());
    call.object = events.number_of(created());
  } else if (call.driver->role == Role::capture) {
    if (call.driver->has(Trait::begins_capture)) captures.fetch_add(1, std::memory_order_relaxed);
    if (call.driver->has(Trait::ends_capture)) captures.fetch_sub(1, std::memory_order_relaxed);
  }
}

void append_arguments(const Call& call) {
  TransferArguments transfer;
  AllocationArguments allocation;
  if (read_transfer(call, &transfer)) {
    TransferRecord record{};
    record.type = RecordType::transfer;
    record.destination = transfer.destination;
    record.source = transfer.source;
    record.bytes = transfer.bytes();
    record.destination_kind = kind_of_pointer(transfer.destination);
    record.source_kind = transfer.fill ? MemoryKind::unknown : kind_of_pointer(transfer.source);
    Direction direction = transfer.direction;
    if (direction == Direction::unknown && !transfer.fill) {
      auto host = [](MemoryKind kind) {
        return kind == MemoryKind::pageable || kind == MemoryKind::pinned || kind == MemoryKind::registered;
      };
      bool from = host(record.source_kind), to = host(record.destination_kind);
      direction = from ? (to ? Direction::host_to_host : Direction::host_to_device)
                       : (to ? Direction::device_to_host : Direction::device_to_device);
    }
    record.direction = static_cast<uint8_t>(direction);
    CUdevice device = 0;
    PassThrough pass;
    if (driver_calls.ctx_get_device && driver_calls.ctx_get_device(&device) == CUDA_SUCCESS)
      record.device = static_cast<uint32_t>(device);
    append(record);
  } else if (read_allocation(call, &allocation)) {
    append(AllocationRecord{.type = RecordType::allocation,
                            .kind = allocation.kind,
                            .released = allocation.released,
                            .address = allocation.address,
                            .bytes = allocation.bytes});
  }
}

}  // namespace diogenes::agent
